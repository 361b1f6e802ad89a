package ndjson

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line that is not as the layout says does not send its block to the slow parser: it
// is refused there, and those before it are kept.
func TestRefusedLinesAreParsedFast(t *testing.T) {
	if !simd {
		t.Skip("no simdjson on this machine")
	}
	of := func(text string) *block {
		b, s := &block{layout: states, depth: limits.Depth, tape: newTape(true)}, newSource(strings.NewReader(text), limits)
		s.fill(&b.lines, 1<<20)
		return b
	}
	b := of("{\"x\":[1,2],\"k\":1}\n{\"k\":2,\"x\":[[1],[2]]}\n{\"x\":[1,2],\"k\":\"a\"}\n{\"x\":[1,2],\"k\":4}\n")
	b.parse()
	require.True(t, b.tape.read(&b.lines))
	require.Equal(t, []int{1, 2}, b.numbers)
	require.ErrorContains(t, b.err, "line 3: ")
	b = of("{\"x\":[1,2],\"k\":1}\n{\"x\":[1,2],\"k\":2}\n")
	b.parse()
	require.True(t, b.tape.read(&b.lines))
	require.NoError(t, b.err)
	require.Equal(t, []int{1, 2}, b.numbers)
}
