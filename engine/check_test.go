package engine

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		check Check
		ok    bool
	}{
		{AtMost("a", 1, 1, "%d draws", 3), true}, {AtMost("a", 1.1, 1, ""), false},
		{AtMost("a", nan, 1, ""), false}, {AtMost("a", inf, 1, ""), false}, {AtMost("a", -inf, 1, ""), false},
		{AtLeast("a", 1, 1, ""), true}, {AtLeast("a", 0.9, 1, ""), false},
		{AtLeast("a", nan, 1, ""), false}, {AtLeast("a", inf, 1, ""), false},
	} {
		require.Equal(t, c.ok, c.check.OK, "%+v", c.check)
		_, err := json.Marshal(c.check)
		require.NoError(t, err)
	}
	require.Equal(t, "3 draws", AtMost("a", 1, 1, "%d draws", 3).Detail)
}

func TestRunChecks(t *testing.T) {
	var seen []string
	emit := func(c Check) { seen = append(seen, c.Name) }
	good := func(names ...string) Checker {
		return func(emit func(Check)) {
			for _, n := range names {
				emit(Check{Name: n})
			}
		}
	}
	require.NoError(t, RunChecks(context.Background(), emit, good("a", "b"), good("c")))
	require.Equal(t, []string{"a", "b", "c"}, seen)
	ctx, cancel := context.WithCancel(context.Background())
	stop := func(func(Check)) { cancel() }
	require.ErrorIs(t, RunChecks(ctx, emit, stop, good("f")), context.Canceled)
	require.Len(t, seen, 3)
}
