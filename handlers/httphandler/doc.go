// Package httphandler posts each record to an HTTP endpoint; the status of the answer is the outcome.
//
// The body is the record's value, byte for byte. A CloudEvent in Kafka's binary mode becomes one in HTTP's binary mode.
// docs/http-handler.md describes the request, header by header, and what each status means:
//
//   - 2xx: done. 408, 425, 429, 5xx and what happens on the network: retried. 3xx, which are not followed, and all other 4xx:
//     permanent.
//   - Retry-After of a 429 or 503 is honoured: the record waits for as long, and no attempt is used.
//   - An endpoint that fails with anything but a refusal (3xx, 4xx other than 408 and 425, and 503) after the request went
//     out may have done the work: such an error is uncertain (R42).
//
// What it guarantees: an attempt sends the record once. Where the client of net/http would repeat a request by itself, because
// it has an Idempotency-Key, this one does not. What it does not: it cannot know whether an endpoint that did not answer has
// done the work, nor call back a request that timed out.
//
// A [Handler] is safe for concurrent use and starts no goroutine of its own:
//
//	h, err := httphandler.New(httphandler.Config{URL: "http://localhost:8080/orders"})
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	p, err := processor.New(cfg, h)
package httphandler
