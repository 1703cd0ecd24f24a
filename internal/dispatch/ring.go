package dispatch

// roomy is the capacity above which a ring lets go of its memory when it runs empty.
const roomy = 4096

// ring is a queue that can also be pushed at the front. The zero value is empty and ready.
type ring[T any] struct {
	buf  []T // its length is a power of two, or 0
	head int
	n    int
}

func (r *ring[T]) len() int { return r.n }

func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[T]) pushBack(v T) {
	r.reserve(1)
	*r.at(r.n) = v
	r.n++
}

func (r *ring[T]) pushFront(v T) {
	r.reserve(1)
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.n++
	*r.at(0) = v
}

// popFront removes the first element. The ring must not be empty.
func (r *ring[T]) popFront() T {
	var zero T
	p := r.at(0)
	v := *p
	*p = zero
	r.drop(1)
	return v
}

// take moves the first elements to dst, as many as there are and fit, and returns their number.
func (r *ring[T]) take(dst []T) int {
	n := min(len(dst), r.n)
	for done := 0; done < n; {
		run := r.buf[r.head:min(r.head+n-done, len(r.buf))]
		done += copy(dst[done:], run)
		clear(run)
		r.drop(len(run))
	}
	return n
}

func (r *ring[T]) drop(n int) {
	r.n -= n
	switch {
	case r.n > 0:
		r.head = (r.head + n) & (len(r.buf) - 1)
	case len(r.buf) > roomy:
		*r = ring[T]{}
	default:
		r.head = 0
	}
}

// reserve makes room for n more elements.
func (r *ring[T]) reserve(n int) {
	size := max(len(r.buf), 8)
	for size < r.n+n {
		size *= 2
	}
	if size == len(r.buf) {
		return
	}
	buf := make([]T, size)
	first := copy(buf, r.buf[r.head:min(r.head+r.n, len(r.buf))])
	copy(buf[first:], r.buf[:r.n-first])
	r.buf, r.head = buf, 0
}
