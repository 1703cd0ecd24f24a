package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the program knows about its own making.
type build struct {
	Version  string `json:"version"`            // of the module; (devel) for a build from a working tree
	Revision string `json:"revision,omitempty"` // of the repository
	Time     string `json:"time,omitempty"`     // of the revision, in RFC 3339
	Modified bool   `json:"modified,omitempty"` // the working tree differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(env *environment) *cobra.Command {
	var form output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo() // nil without module support
			b := newBuild(info)
			if form == outputJSON {
				return writeJSON(env.stdout, []build{b})
			}
			return write(env.stdout, b.String()+"\n")
		},
	}
	addOutput(cmd, &form)
	return cmd
}

func newBuild(info *debug.BuildInfo) build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns one line for people.
func (b build) String() string {
	s := "laneway " + b.Version
	if b.Revision != "" {
		s += " (" + b.Revision
		if b.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + " " + b.Go + " " + b.Platform
}
