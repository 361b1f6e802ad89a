package density

import (
	"context"
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// A slowRing is a ring in the plane that takes its time, and stops who asks too often.
type slowRing struct {
	calls, left *atomic.Int64
	stop        *atomic.Pointer[context.CancelFunc]
}

func (slowRing) Dim() int { return 2 }

func (s slowRing) LogDensity(dst, x []float32, _ []uint8) {
	time.Sleep(time.Millisecond)
	s.calls.Add(1)
	if s.left.Add(-1) == 0 {
		(*s.stop.Load())()
	}
	for r := range dst {
		off := math.Hypot(float64(x[2*r]), float64(x[2*r+1])) - 2
		dst[r] = float32(-off * off / 0.32)
	}
}

// A look at a target, and the placing of a generator there, that are interrupted again and
// again get to where they do at once.
func TestInterruptedLooksGoOn(t *testing.T) {
	long.SkipShort(t)
	t.Parallel() // it waits
	target := slowRing{new(atomic.Int64), new(atomic.Int64), new(atomic.Pointer[context.CancelFunc])}
	systems := catalogue.Systems{Reals("slow", "a ring", target)}
	workers := pool.New(2)
	defer workers.Close()
	from := catalogue.Source{System: "slow", Preset: "quick", Set: []string{"training.steps=2", "training.batch=64", "generator.scout.population=256"}}
	attempt := func(dir string, calls int64) (*run.Result, error) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		target.stop.Store(&stop)
		target.left.Store(calls)
		given, _, _, err := systems.Given(from)
		require.NoError(t, err)
		setup, err := run.SetUp(dir, "auto", given, func(string) {})
		require.NoError(t, err)
		from := from
		from.Look = run.ReadLook(dir)
		cfg, _, err := systems.Resolve(setup.Noting(ctx), from)
		if err == nil {
			err = setup.Keep(from.Look)
		}
		var result *run.Result
		if err == nil {
			result, err = run.Train(ctx, cfg, workers, run.Options{Dir: dir, Setup: setup, Unmeasured: true})
		}
		return result, setup.End(err)
	}
	whole, err := attempt(filepath.Join(t.TempDir(), "run"), math.MaxInt64)
	require.NoError(t, err)
	needed := target.calls.Swap(0)
	t.Log(needed, "calls")

	dir := filepath.Join(t.TempDir(), "run")
	attempts := 0
	for {
		attempts++
		r, err := attempt(dir, needed/5)
		if err == nil {
			require.Equal(t, whole.Params, r.Params)
			break
		}
		require.ErrorIs(t, err, run.ErrStopped)
		require.Less(t, attempts, 30, "it does not get on")
	}
	t.Log(attempts, "attempts", target.calls.Load(), "calls")
	require.Greater(t, attempts, 3)
	require.Less(t, target.calls.Load(), 4*needed)
	require.NoDirExists(t, filepath.Join(dir, "notes"))
}
