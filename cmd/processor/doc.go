// Command processor runs a Laneway worker and looks after its topics.
//
// Each command has a file with one constructor, such as newCheck, that takes the process's environment and returns a
// cobra command; [newRoot] lists them. A command writes to the environment's writers, never to [os.Stdout], and returns an
// error; exit.go makes an exit code of it.
package main
