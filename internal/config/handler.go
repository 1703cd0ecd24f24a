package config

// Handler does the work for a record. Exactly one of the fields is given.
type Handler struct {
	// HTTP posts each record to a server.
	HTTP *HTTP `yaml:"http,omitempty"`
	// Exec hands each record to a child process, as one line of JSON.
	Exec *Exec `yaml:"exec,omitempty"`
}

// HTTP posts each record to a server.
type HTTP struct {
	// URL is where records are posted to.
	URL URL `yaml:"url" required:"true"`
	// Timeout bounds one request, answer included. Left out, it is the timeout of the topic.
	Timeout Duration `yaml:"timeout" default:"30s" min:"1ms" max:"24h"`
	// ConnectTimeout bounds the time until a connection stands.
	ConnectTimeout Duration `yaml:"connect_timeout" default:"10s" min:"1ms" max:"10m"`
	// ForwardHeaders are the record headers that are sent along.
	ForwardHeaders []string `yaml:"forward_headers,omitempty"`
	// ContentType is that of records without a content-type header.
	ContentType string `yaml:"content_type" default:"application/octet-stream"`
	// Headers are added to each request. Their values are kept secret.
	Headers map[string]Secret `yaml:"headers,omitempty"`
	// SigningSecrets sign each request as Standard Webhooks describes; whsec_ and base64. A second one is for a change of secret.
	SigningSecrets []Secret `yaml:"signing_secrets,omitempty"`
	// TLS is for https with own authorities or a client certificate.
	TLS *TLS `yaml:"tls,omitempty"`
}

// Exec hands each record to a child process, as one line of JSON.
type Exec struct {
	// Command is the program and its arguments.
	Command []string `yaml:"command" required:"true"`
	// Processes is the number of children at most, each with one record in hand.
	Processes int `yaml:"processes" default:"4" min:"1" max:"1000"`
	// Dir is the directory that the children run in. Default: the worker's.
	Dir string `yaml:"dir"`
	// Env are variables for the children, besides the worker's own. Their values are kept secret.
	Env map[string]Secret `yaml:"env,omitempty"`
}
