// Package exechandler runs a handler that is a program of its own, in any language.
//
// It keeps a few processes of one command. Each reads a record as one JSON line on its standard input and answers with one
// JSON line on its standard output; what it writes to its standard error goes to the log. docs/exec-protocol.md describes
// both lines, field by field, with programs in Python, JavaScript and shell.
//
// What it guarantees:
//   - A process has at most one record in hand, so that the program may be single-threaded.
//   - When [Handler.Handle] returns with an error of its own, the process that had the record is gone, and so is everything
//     that it started in its process group: no late effect runs beside the next attempt.
//   - A process that dies, hangs, answers nonsense or speaks without being asked is replaced, after a delay that grows with
//     each failure in a row. The record that it had in hand fails with an error that names what happened and what the
//     process said last. That error is marked as uncertain, since nobody knows how far the program came.
//
// What it does not: it cannot undo what a killed program has done, and a program that leaves its process group (setsid) is
// out of reach; its hold on the pipes is broken, the program itself is not ended.
//
// No process starts before the first record. A [Handler] is safe for concurrent use; [Handler.Close] ends the processes:
//
//	h, err := exechandler.New(exechandler.Config{Command: []string{"python3", "handler.py"}})
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	p, err := processor.New(cfg, h)
//
// The package needs process groups to do its best, which Linux, macOS and the BSDs have. Elsewhere it ends the process alone.
package exechandler
