//go:build synctests

package sim_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// host is the network of one process: its connections can be slowed, cut after the broker has answered, or severed for good.
type host struct {
	vn *kfake.VirtualNetwork

	mu       sync.Mutex
	rng      *rand.Rand
	conns    map[*conn]struct{}
	down     bool // no connection is made, none exists
	loss     float64
	late     time.Duration // an answer takes up to so much longer
	exact    time.Duration // every request is on its way for so long
	slow     time.Duration // a request is on its way for up to so long, whatever happens to the host meanwhile
	keys     map[int16]bool
	hits     struct{ lost, late, slow int }
	onCommit func(request []byte) // is told of every commit
	// onWrite is told of every request before it is sent; it may hold the request back by waiting. Scenarios use it.
	onWrite func(key int16, request []byte)
	onRead  func(key int16) // before an answer is delivered
}

var errDown = errors.New("network is unreachable")

func newHost(vn *kfake.VirtualNetwork, seed uint64) *host {
	return &host{vn: vn, rng: rand.New(rand.NewPCG(seed, 1)), conns: map[*conn]struct{}{}}
}

func (h *host) dial(ctx context.Context, network, address string) (net.Conn, error) {
	h.mu.Lock()
	down := h.down
	h.mu.Unlock()
	if down {
		pause(10*time.Millisecond, ctx.Done()) // the client asks again at once, and time would stand still
		return nil, errDown
	}
	inner, err := h.vn.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, host: h, closed: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		_ = inner.Close()
		return nil, errDown
	}
	h.conns[c] = struct{}{}
	return c, nil
}

// cut severs every connection and makes no new one. What was sent before arrives nevertheless.
func (h *host) cut() {
	h.mu.Lock()
	h.down = true
	conns := h.conns
	h.conns = map[*conn]struct{}{}
	h.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

func (h *host) mend() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = false
}

// trouble makes the connections bad for the requests with the given keys; all zero makes them good again.
func (h *host) trouble(loss float64, late, slow time.Duration, keys ...int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loss, h.late, h.slow, h.exact = loss, late, slow, 0
	h.keys = map[int16]bool{}
	for _, k := range keys {
		h.keys[k] = true
	}
}

// farAway keeps every request with one of the keys on its way for a while.
func (h *host) farAway(d time.Duration, keys ...int16) {
	h.trouble(0, 0, 0, keys...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.exact = d
}

// holdAnswers keeps the answers to requests with the key back until release is called.
func (h *host) holdAnswers(key int16) (release func()) {
	gate := make(chan struct{})
	h.mu.Lock()
	h.onRead = func(k int16) {
		if k == key {
			<-gate
		}
	}
	h.mu.Unlock()
	return sync.OnceFunc(func() {
		h.mu.Lock()
		h.onRead = nil
		h.mu.Unlock()
		close(gate)
	})
}

func (h *host) fate(key int16) (lose bool, late, slow time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.keys) > 0 && !h.keys[key] {
		return false, 0, 0
	}
	if h.loss > 0 && h.rng.Float64() < h.loss {
		h.hits.lost++
		return true, 0, 0
	}
	if h.exact > 0 {
		return false, 0, h.exact
	}
	if h.late > 0 && h.rng.IntN(3) == 0 {
		h.hits.late++
		late = time.Duration(h.rng.Int64N(int64(h.late)))
	}
	if h.slow > 0 && h.rng.IntN(3) == 0 {
		h.hits.slow++
		slow = time.Duration(h.rng.Int64N(int64(h.slow)))
	}
	return false, late, slow
}

// conn is one connection. The client writes a request with one call of Write, and the broker answers in order.
type conn struct {
	net.Conn
	host   *host
	once   sync.Once
	closed chan struct{}

	mu      sync.Mutex
	pending []answerFate // of the requests that have not been answered
	left    int          // bytes of the present answer that the client has not read
	queue   [][]byte     // requests that are on their way
	pumping bool
}

type answerFate struct {
	key  int16
	lose bool
	late time.Duration
}

func (c *conn) Write(b []byte) (int, error) {
	key := int16(-1)
	if len(b) >= 6 {
		key = int16(binary.BigEndian.Uint16(b[4:]))
	}
	if f := c.host.writeHook(); f != nil {
		f(key, b)
	}
	if key == keyCommit && c.host.onCommit != nil {
		c.host.onCommit(b)
	}
	lose, late, slow := c.host.fate(key)
	c.mu.Lock()
	c.pending = append(c.pending, answerFate{key, lose, late})
	if slow == 0 && !c.pumping {
		c.mu.Unlock()
		return c.Conn.Write(b)
	}
	c.queue = append(c.queue, append([]byte(nil), b...))
	if !c.pumping {
		c.pumping = true
		go c.pump(slow)
	}
	c.mu.Unlock()
	return len(b), nil
}

// pump delivers requests that are on their way, also after the host was cut off: packets that have left do not come back.
func (c *conn) pump(wait time.Duration) {
	timer := time.NewTimer(wait)
	<-timer.C
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.pumping = false
			closed := c.isClosed()
			c.mu.Unlock()
			if closed {
				_ = c.Conn.Close()
			}
			return
		}
		b := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		_ = c.Conn.SetWriteDeadline(time.Time{})
		if _, err := c.Conn.Write(b); err != nil {
			c.mu.Lock()
			c.queue = nil
			c.mu.Unlock()
		}
	}
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *conn) Read(b []byte) (int, error) {
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	if err != nil {
		return n, err
	}
	c.mu.Lock()
	fresh := c.left <= 0
	var f answerFate
	if fresh && n >= 4 {
		// The client reads the size of an answer by itself, in four bytes.
		c.left = int(binary.BigEndian.Uint32(b)) + 4
		if len(c.pending) > 0 {
			f = c.pending[0]
			c.pending = c.pending[1:]
		}
	}
	c.left -= n
	c.mu.Unlock()
	if !fresh {
		return n, nil
	}
	if hook := c.host.readHook(); hook != nil {
		hook(f.key)
	}
	if f.lose {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	if f.late > 0 {
		timer := time.NewTimer(f.late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	return n, nil
}

// Close ends the connection for the client at once, and for the broker when all requests that are on their way have arrived.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.host.mu.Lock()
		delete(c.host.conns, c)
		c.host.mu.Unlock()
		c.mu.Lock()
		pumping := c.pumping
		c.mu.Unlock()
		if !pumping {
			_ = c.Conn.Close()
			return
		}
		_ = c.Conn.SetReadDeadline(time.Now()) // wakes the client's reader
		go c.discard()
	})
	return nil
}

// discard reads answers that nobody waits for, so that the broker can write them.
func (c *conn) discard() {
	buf := make([]byte, 4096)
	_ = c.Conn.SetReadDeadline(time.Time{})
	for {
		if _, err := c.Conn.Read(buf); err != nil {
			return
		}
	}
}

func (h *host) writeHook() func(int16, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.onWrite
}

func (h *host) readHook() func(int16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.onRead
}

// Keys of the requests that faults are about.
const (
	keyProduce   = int16(kmsg.Produce)
	keyFetch     = int16(kmsg.Fetch)
	keyCommit    = int16(kmsg.OffsetCommit)
	keyHeartbeat = int16(kmsg.Heartbeat)
)
