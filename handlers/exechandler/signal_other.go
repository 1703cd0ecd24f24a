//go:build !unix

package exechandler

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// terminate does nothing: there is no polite signal here. A process may end by itself when its input is closed.
func terminate(*os.Process) {}

// kill ends the process alone. An error means that it has ended already.
func kill(p *os.Process) { _ = p.Kill() }
