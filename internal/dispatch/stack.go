package dispatch

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
)

const (
	stackLimit = 8 << 10 // what a result carries
	dumpLimit  = 1 << 20 // what is looked through for the stack of another goroutine; some thousand goroutines
)

// ownStack returns the stack of a goroutine that panics, from the panic on.
func ownStack() []byte {
	buf := make([]byte, 2*stackLimit)
	buf = buf[:runtime.Stack(buf, false)]
	head, frames, _ := bytes.Cut(buf, []byte("\n"))
	if i := bytes.Index(frames, []byte("\npanic(")); i >= 0 {
		frames = frames[i+1:]
	}
	return clip(slices.Concat(head, []byte("\n"), frames))
}

// goroutineID returns the number that stack dumps give the calling goroutine, 0 if it cannot be told.
func goroutineID() uint64 {
	var buf [64]byte
	s := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(s, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// dump returns the stacks of all goroutines, as many as fit. It stops the world while it is made, for some milliseconds.
func dump() []byte {
	buf := make([]byte, dumpLimit)
	return buf[:runtime.Stack(buf, true)]
}

// stackOf finds one goroutine in a dump; nil if it is not there.
func stackOf(dump []byte, id uint64) []byte {
	head := []byte("goroutine " + strconv.FormatUint(id, 10) + " ")
	for stack := range bytes.SplitSeq(dump, []byte("\n\n")) {
		if bytes.HasPrefix(stack, head) {
			return clip(stack)
		}
	}
	return nil
}

// clip copies the beginning of a stack.
func clip(stack []byte) []byte { return bytes.Clone(stack[:min(len(stack), stackLimit)]) }
