package admin

import "time"

// SetLease shortens the lease of the tasks that the client carries out.
func (c *Client) SetLease(d time.Duration) { c.lease = d }
