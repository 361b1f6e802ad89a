package score

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
)

// TestNumbers: as JSON and CSV have them.
func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{1<<53 - 1: "9007199254740991", -1 << 53: "-9.007199254740992e+15", 0.1: "0.1", math.Inf(1): "'Infinity'", math.Inf(-1): "'-Infinity'"} {
		require.Equal(t, want, string(appendNumber(nil, x, "'")))
	}
	require.Equal(t, "'NaN'", string(appendNumber(nil, math.NaN(), "'")))
}

// TestCount: lines of a file that are not blank, after which it is read from its beginning.
func TestCount(t *testing.T) {
	long := "[" + strings.Repeat(" ", 1<<20) + "3,1]"
	path := filepath.Join(t.TempDir(), "states.ndjson")
	require.NoError(t, os.WriteFile(path, []byte("\n[1,1]\r\n \t\n"+long+"\n[2,1]"), 0o600))
	in, err := Open(path, nil, "", "", []engine.Format{format}, 1)
	require.NoError(t, err)
	require.EqualValues(t, -1, in.Rows)
	require.NoError(t, in.Count())
	require.EqualValues(t, 3, in.Rows)
	var where []string
	require.NoError(t, in.Each(func(states []byte, at func(int) string) error {
		for i := range len(states) / 2 {
			where = append(where, fmt.Sprint(at(i), " ", states[2*i]))
		}
		return nil
	}))
	require.Equal(t, []string{"line 2 1", "line 4 3", "line 5 2"}, where)
	require.NoError(t, in.Close())
	pipe, err := Open("-", strings.NewReader("[1,1]\n"), "", "", []engine.Format{format}, 1)
	require.NoError(t, err)
	require.ErrorContains(t, pipe.Count(), "stdin: a NumPy array begins with the number of states, which a stream shows only at its end")
	known, err := Open("-", strings.NewReader(array(t, "'|i1'", []int{3, 2}, 6)), "", "", []engine.Format{format}, 1)
	require.NoError(t, err)
	require.NoError(t, known.Count(), "the header says it")
	require.EqualValues(t, 3, known.Rows)
	stop := errors.New("enough")
	require.ErrorIs(t, pipe.Each(func([]byte, func(int) string) error { return stop }), stop)
}
