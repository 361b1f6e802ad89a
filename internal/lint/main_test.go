package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	findings, err := lint("./testdata/sums")
	require.NoError(t, err)
	var got []int
	for _, f := range findings {
		_, rest, ok := strings.Cut(f, "sums.go:")
		require.True(t, ok, f)
		at := 0
		for rest[0] != ':' {
			at, rest = 10*at+int(rest[0]-'0'), rest[1:]
		}
		got = append(got, at)
	}
	require.Equal(t, want, got)
}

func TestPackagesThatAreNotThere(t *testing.T) {
	_, err := lint("./nothing")
	require.ErrorContains(t, err, "go list")
}
