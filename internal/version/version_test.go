package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestString(t *testing.T) {
	for want, v := range map[string]Version{
		"(devel)": {Module: "(devel)"},
		"(devel) 4431d142f24b with changes (purego)": {Module: "(devel)", Revision: "4431d142f24b0123", Modified: true, Tags: "purego"},
		"v0.0.0-20261121051456-4431d142f24b+dirty":   {Module: "v0.0.0-20261121051456-4431d142f24b+dirty", Revision: "4431d142f24b0123", Modified: true},
		"v1.2.0 4431d142f24b":                        {Module: "v1.2.0", Revision: "4431d142f24b0123"},
	} {
		require.Equal(t, want, v.String())
	}
}

func TestVersionOf(t *testing.T) {
	build := &debug.BuildInfo{
		Main:     debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "4431d142f24b0123"}, {Key: "vcs.modified", Value: "true"}, {Key: "-tags", Value: "purego"}},
	}
	require.Equal(t, Version{"(devel)", "4431d142f24b0123", true, "purego"}, versionOf(build, ""))
	require.Equal(t, Version{"v1.2.3", "4431d142f24b0123", true, "purego"}, versionOf(build, "v1.2.3"))
	require.Equal(t, Version{Module: "(unknown)"}, versionOf(&debug.BuildInfo{}, ""))
	require.Equal(t, Version{Module: "(unknown)"}, versionOf(nil, ""))
}

func TestRead(t *testing.T) {
	build, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	require.Equal(t, versionOf(build, stamp), Read())
}
