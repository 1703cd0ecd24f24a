package config

// settle fills in the defaults that depend on other settings. A topic with an HTTP handler has one time limit in mind,
// whichever of the two places it was written in.
func (c *Config) settle() {
	for name, t := range c.Topics {
		path := join("topics", name)
		if t.Handler.HTTP == nil {
			continue
		}
		call, request := c.given(path+".timeout"), c.given(path+".handler.http.timeout")
		switch {
		case call && !request:
			t.Handler.HTTP.Timeout = t.Timeout
		case request && !call:
			t.Timeout = t.Handler.HTTP.Timeout
		}
		c.Topics[name] = t
	}
}
