// Package version says which source the program was built from.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// stamp is the version for sources in no repository, which
// -ldflags "-X github.com/revgen/revgen/internal/version.stamp=v1.2.3" sets.
var stamp string

// A Version says which source a program was built from.
type Version struct {
	Module   string `json:"module"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the sources differed from the revision
	Tags     string `json:"tags,omitempty"`
}

// Read returns the version of the running program.
func Read() Version {
	build, _ := debug.ReadBuildInfo()
	return versionOf(build, stamp)
}

// versionOf returns the version of a build, which is nil if unknown.
func versionOf(build *debug.BuildInfo, stamp string) Version {
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
	text := v.Module // contains the revision, if it is a pseudo-version
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
