// Package configtest tests what validation promises of every system: that
// whatever it accepts can be built and trained, that what it refuses has a key,
// and that it knows how much memory will be needed.
package configtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
)

// smallSettings make any preset quick to build and to train.
var smallSettings = []string{
	"training.batch=6", "training.steps=3", "generator.hidden=[5,4]", "evaluation.samples=20", "transition.steps=1",
	"training.evolution.pairs=2", "training.consensus.particles=3", "loss.discriminator.hidden=[4]", "loss.discriminator.steps=2",
}

// edgeNumbers are values near limits of integers, of single and of double precision.
var edgeNumbers = strings.Fields(`0 1 2 3 4 5 8 16 17 64 -1 0.5 0.999999999999 1.5 10 300 1000 4096 8193 65536 65537
	1e-5 1e-20 1e-38 1e-40 1e-46 1e-150 1e-300 5e-324 1e9 1e15 1e19 1e30 3.4e38 3.5e38 1e150 1e300 1.7e308 -1e-300 -2.5 -1e150
	16777216 16777217 2147483647 2147483648 4294967296 9007199254740993 1000000000000000000 9223372036854775807 18446744073709551615`)

var kernels = []string{`[{"c":1e-20,"beta":1,"weight":1}]`, `[{"c":1,"beta":1e9,"weight":1}]`, `[{"nu":0.5,"length":1e-15,"weight":1}]`, `[{"nu":2.5,"length":1,"weight":1}]`}

// Run changes some values of the presets at random, trials times. Lists of objects and
// strings become one of the words. A configuration that is accepted is trained, after shorten
// has made it quicker.
func Run(t *testing.T, def engine.Definition, trials int, words []string, shorten func(engine.Config)) {
	limit := memory.Limit
	memory.Limit = func() float64 { return 96 << 20 }
	defer func() { memory.Limit = limit }()
	workers := pool.New(1)
	defer workers.Close()
	r := rand.New(rand.NewPCG(11, 5))
	accepted, refused := 0, map[string]int{}
	for trial := range trials {
		cfg, err := def.Preset(def.Presets[trial%len(def.Presets)])
		require.NoError(t, err)
		all, err := conf.Assignments(cfg)
		require.NoError(t, err)
		changes := applicable(smallSettings, all)
		if slices.Contains(all, `generator.kind="hierarchy"`) {
			changes = append(changes, "training.batch=64") // a hierarchy draws 64 samples at once
		}
		for range 1 + r.IntN(4) {
			key, value, _ := strings.Cut(all[r.IntN(len(all))], "=")
			changes = append(changes, key+"="+mutate(r, value, words))
		}
		if err = conf.Set(cfg, changes...); err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			key := keyOf(t, cfg, err)
			refused[key]++
			continue
		}
		accepted++
		shorten(cfg)
		require.NoError(t, cfg.Validate(), "shortened %v", changes)
		if err := trainAndSample(cfg, workers); err != nil {
			t.Fatalf("accepted and failed: %v\nwith %v", err, changes)
		}
	}
	t.Logf("%d accepted, %d keys refused", accepted, len(refused))
	require.Greater(t, accepted, trials/20)
	require.Greater(t, len(refused), 10)
}

// applicable returns the changes whose keys are among a configuration's assignments.
func applicable(changes, assignments []string) (kept []string) {
	for _, change := range changes {
		key, _, _ := strings.Cut(change, "=")
		if slices.ContainsFunc(assignments, func(a string) bool { return strings.HasPrefix(a, key+"=") }) {
			kept = append(kept, change)
		}
	}
	return kept
}

// mutate returns another value of the same kind.
func mutate(r *rand.Rand, value string, words []string) string {
	pick := func(values []string) string { return values[r.IntN(len(values))] }
	switch value[0] {
	case '"':
		return pick(words)
	case 't', 'f':
		return pick([]string{"true", "false"})
	case '[', 'n':
		words = append(words[:len(words):len(words)], kernels...)
		if strings.HasPrefix(value, "[{") {
			return pick(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, "[{") }))
		}
		list := make([]string, r.IntN(4))
		for i := range list {
			list[i] = pick(edgeNumbers)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return pick(edgeNumbers)
}

// keyOf requires that an error begins with the path of a value, and returns it.
func keyOf(t *testing.T, cfg engine.Config, err error) string {
	t.Helper()
	key, rest, ok := strings.Cut(err.Error(), ": ")
	require.True(t, ok && rest != "", "no key: %v", err)
	plain, _, _ := strings.Cut(key, "[")
	require.True(t, slices.ContainsFunc(conf.Keys(cfg), func(k string) bool {
		return k == plain || strings.HasPrefix(k, plain+".") || strings.HasPrefix(plain, k+".")
	}), "%q is no key: %v", key, err)
	return plain
}

// trainAndSample takes a step and draws samples. A number that becomes infinite in training is
// no failure, since training reports it.
func trainAndSample(cfg engine.Config, workers *pool.Pool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			stack := make([]byte, 2048)
			err = fmt.Errorf("panic: %v\n%s", r, stack[:runtime.Stack(stack, false)])
		}
	}()
	trainer, err := engine.NewTrainer(cfg, workers)
	if errors.As(err, new(*engine.MethodError)) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := trainer.Step(); errors.As(err, new(*engine.NonFiniteError)) {
		return nil
	} else if err != nil {
		return err
	}
	if sampler, ok := trainer.System().(engine.Sampler); ok {
		f := sampler.Formats()[0]
		return sampler.Sample(make([]byte, 3*f.RowBytes), f.Name, trainer.Params(), 0, 3, 1)
	}
	return nil
}

// Memory requires that the demands of a configuration bound what is allocated to
// build it and to take a step, and that they are of that order.
func Memory(t *testing.T, cfg engine.Config) {
	t.Helper()
	require.NoError(t, cfg.Validate())
	limit := memory.Limit
	defer func() { memory.Limit = limit }()
	low, high := 0.0, 1e15 // bounds of the sum of the demands, found by bisection
	for high-low > 1e4 {
		memory.Limit = func() float64 { return (low + high) / 2 }
		if cfg.Validate() == nil {
			high = (low + high) / 2
		} else {
			low = (low + high) / 2
		}
	}
	memory.Limit = limit
	workers := pool.New(1)
	defer workers.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	trainer, err := engine.NewTrainer(cfg, workers)
	require.NoError(t, err)
	require.NoError(t, trainer.Step())
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := float64(after.HeapAlloc) - float64(before.HeapAlloc)
	runtime.KeepAlive(trainer)
	t.Logf("%.4g MB held, %.4g MB demanded", held/1e6, high/1e6)
	assert.Less(t, held, high+1<<20)
	const slack = 64 << 20 // for tables and checkpoints
	assert.Less(t, high, 10*held+slack)
}
