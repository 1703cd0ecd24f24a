//go:build unix

package exechandler

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives the process a process group of its own: what it starts can be ended with it, and a Ctrl-C in the worker's
// terminal does not reach it, so that the worker can drain.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the process group to end. An error means that nobody is left in it.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// kill ends the process group.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
