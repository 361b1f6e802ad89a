package density

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
)

// halting is a normal law that ceases to be one after so many evaluations.
type halting struct{ left *atomic.Int64 }

func (h halting) Dim() int { return 2 }

func (h halting) LogDensity(dst, x []float32, _ []uint8) {
	for i := range dst {
		dst[i] = -(x[2*i]*x[2*i] + x[2*i+1]*x[2*i+1]) / 2
		if h.left.Add(-1) < 0 {
			dst[i] = float32(math.NaN())
		}
	}
}

// Ranks without rows of their own judge the target by the others' values, and a target
// that fails on one rank ends the training of all.
func TestRanks(t *testing.T) {
	const size = 3 // the batch has rows for two
	run := func(fails int, after int64) (params [size][]float32, errs [size]error) {
		var all sync.WaitGroup
		for i, rank := range pool.Local(size) {
			all.Go(func() {
				left := new(atomic.Int64)
				left.Store(math.MaxInt64)
				cfg, err := catalogue.Systems{Reals("halting", "a law that ends", halting{left})}.Configure("halting", "paper",
					"training.steps=30", "training.batch=256", "evaluation.samples=200")
				if errs[i] = err; err != nil {
					return
				}
				if i == fails { // in its training
					left.Store(after)
				}
				workers := pool.New(1)
				defer workers.Close()
				workers.Join(rank)
				var r *run.Result
				if r, errs[i] = run.Train(context.Background(), cfg, workers, run.Options{}); r != nil {
					params[i] = r.Params
				}
			})
		}
		all.Wait()
		return params, errs
	}
	params, errs := run(-1, 0)
	for i := range size {
		require.NoError(t, errs[i], "rank %d", i)
		require.Equal(t, params[0], params[i])
	}
	for fails := 1; fails < size; fails++ {
		_, errs = run(fails, 5000)
		for i, err := range errs {
			var failed *engine.TargetError
			if i == fails {
				require.ErrorAs(t, err, &failed)
				require.ErrorContains(t, err, "ln π is NaN at")
			} else {
				require.ErrorIs(t, err, engine.ErrElsewhere, "rank %d", i)
			}
		}
	}
}

// What programs of different ranks answer is compared before it is believed.
func TestProgramsOfRanks(t *testing.T) {
	const size = 3
	for behaviour, differ := range map[string]bool{"fine": false, "apart": true} {
		t.Setenv("MARK", filepath.Join(t.TempDir(), "mark"))
		var all sync.WaitGroup
		var errs [size]error
		for i, rank := range pool.Local(size) {
			all.Go(func() {
				cfg := configure(t, RealsDefinition, "paper", "target.kind=program", "target.center=[]", "target.scale=[1]",
					fmt.Sprintf("target.command=[%q, \"-serve\", %q]", os.Args[0], behaviour), "training.steps=2", "training.batch=256", "evaluation.samples=200")
				workers := pool.New(1)
				defer workers.Close()
				workers.Join(rank)
				_, errs[i] = run.Train(context.Background(), cfg, workers, run.Options{})
			})
		}
		all.Wait()
		for i, err := range errs {
			if !differ {
				require.NoError(t, err, "rank %d", i)
				continue
			}
			require.ErrorContains(t, err, "answers otherwise than on rank 0", "rank %d", i)
			require.Equal(t, errs[0].Error(), err.Error())
		}
	}
}

// Samples as drawn are the generator's alone: a target that has ceased to be one is no
// matter of theirs, as it is of refined ones.
func TestSamplesDoNotAsk(t *testing.T) {
	left := new(atomic.Int64)
	left.Store(math.MaxInt64)
	cfg := configure(t, Reals("halting", "a law that ends", halting{left}), "paper")
	workers := pool.New(1)
	defer workers.Close()
	system, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, system.NumParams())
	system.Initialize(params)
	left.Store(0)
	sampler := system.(engine.Sampler)
	states := make([]byte, 100*sampler.Formats()[0].RowBytes)
	require.NoError(t, sampler.Sample(states, sampler.Formats()[0].Name, params, 0, 100, 0))
	require.Zero(t, left.Load(), "evaluations")
	require.Error(t, sampler.Sample(states, sampler.Formats()[0].Name, params, 0, 100, 1))
}
