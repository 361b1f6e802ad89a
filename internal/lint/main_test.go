package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

func TestFindsSumsInTheOrderOfAMap(t *testing.T) {
	file := filepath.Join("testdata", "sums", "sums.go")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var want []int
	line := 0
	for l := range bytes.Lines(text) {
		line++
		if bytes.HasSuffix(bytes.TrimSpace(l), []byte("// found")) {
			want = append(want, line)
		}
	}
	require.Len(t, want, 10)
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax}, "./testdata/sums")
	require.NoError(t, err)
	graph, err := checker.Analyze([]*analysis.Analyzer{analyzer}, loaded, nil)
	require.NoError(t, err)
	var got []int
	for _, root := range graph.Roots {
		require.NoError(t, root.Err)
		for _, d := range root.Diagnostics {
			at := root.Package.Fset.Position(d.Pos)
			require.Equal(t, "sums.go", filepath.Base(at.Filename))
			got = append(got, at.Line)
		}
	}
	require.Equal(t, want, got)
}
