// Package version says which source the program was built from.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// stamp is what -ldflags "-X github.com/revgen/revgen/internal/version.stamp=v1.2.3"
// says, where the sources are in no repository.
var stamp string

// A Version is one of the program.
type Version struct {
	Module   string `json:"module"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the sources differed from the revision
	Tags     string `json:"tags,omitempty"`
}

// Read returns the version of the running program.
func Read() Version {
	build, _ := debug.ReadBuildInfo()
	return of(build, stamp)
}

// of takes nil for a program of which nothing is known.
func of(build *debug.BuildInfo, stamp string) Version {
	build = cmp.Or(build, &debug.BuildInfo{})
	v := Version{Module: cmp.Or(stamp, build.Main.Version, "(unknown)")}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "-tags":
			v.Tags = s.Value
		}
	}
	return v
}

func (v Version) String() string {
	text := v.Module // holds the revision, unless the build is of an unknown version
	if revision := v.Revision[:min(12, len(v.Revision))]; !strings.Contains(text, revision) {
		text += " " + revision
		if v.Modified {
			text += " with changes"
		}
	}
	if v.Tags != "" {
		text += " (" + v.Tags + ")"
	}
	return text
}
