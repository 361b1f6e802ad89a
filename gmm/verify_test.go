package gmm

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/pool"
)

// newTestSubject takes smaller samples than Verify.
func newTestSubject(workers *pool.Pool) *subject {
	v := newSubject(workers)
	v.samples = 1 << 13
	return v
}

func TestVerify(t *testing.T) {
	names := systemtest.Checks(t, func(workers *pool.Pool, emit func(engine.Check)) error {
		return engine.RunChecks(t.Context(), emit, newTestSubject(workers).checks()...)
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(breakable())), names, "every check must be shown to fail")
}

// TestKitChecks: of the kit's checks, the density and the exact samples of the known targets pass,
// and those of another law are found.
func TestKitChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	workers := pool.New(2)
	defer workers.Close()
	kit := kitChecks(workers)
	require.NoError(t, engine.RunChecks(t.Context(), func(c engine.Check) { require.True(t, c.OK, "%+v", c) }, kit[0], kit[6]))
}

func TestVerifyStops(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	ctx, cancel := context.WithCancel(context.Background())
	require.ErrorIs(t, Verify(ctx, workers, func(engine.Check) { cancel() }), context.Canceled)
}

// A fault is something wrong in a part, as little as could be overlooked, and
// the checks that must notice.
type fault struct {
	what   string
	checks []string
	spoil  func(v *subject)
}

func faults() []fault {
	return []fault{
		{"ln π is off in the twelfth digit", []string{"density"}, func(v *subject) {
			v.logDensity = func(t *Target, x []float64) float64 { return t.LogDensity(x) + 1e-11 }
		}},
		{"one state of a batch is off", []string{"density-float32"}, func(v *subject) {
			v.batchDensity = func(f *density, dst, x []float32) {
				f.LogDensity(dst, x, nil)
				dst[500] *= 1.00001
			}
		}},
		{"components are drawn with equal weights", []string{"exact-samples"}, func(v *subject) {
			v.sample = func(t *Target, x []float32, c *asm.Counter, first uint64) {
				equal := paperTarget()
				if t.dim == 3 {
					equal = wideMixture()
				}
				for k := range equal.Components {
					equal.Components[k].Weight = 1 / float64(len(equal.Components))
				}
				if t, err := NewTarget(equal); err == nil {
					t.Sample(x, c, first)
				}
			}
		}},
		{"normals are a tenth too wide", []string{"exact-samples"}, func(v *subject) {
			v.sample = func(t *Target, x []float32, c *asm.Counter, first uint64) {
				t.Sample(x, c, first)
				for i := range x {
					x[i] *= 1.1
				}
			}
		}},
		offByAThousandth("∫(q−π)²", func(o *overlap) *float64 { return &o.square }),
		offByAThousandth("KL(q‖π)", func(o *overlap) *float64 { return &o.klTo }),
		offByAThousandth("KL(π‖q)", func(o *overlap) *float64 { return &o.klFrom }),
		offByAThousandth("∫q", func(o *overlap) *float64 { return &o.mass }),
	}
}

// offByAThousandth is a fault in one integral alone.
func offByAThousandth(name string, of func(o *overlap) *float64) fault {
	return fault{name + " is off by a thousandth", []string{"distances"}, func(v *subject) {
		v.integrate = func(d *sampler) (*sublattices, error) {
			all, err := d.integrate(context.Background(), firstPoints)
			for i := range all {
				*of(&all[i]) *= 1.001
			}
			return all, err
		}
	}}
}

// breakable returns the names of the checks that a fault breaks.
func breakable() map[string]bool {
	names := map[string]bool{}
	for _, f := range faults() {
		for _, name := range f.checks {
			names[name] = true
		}
	}
	return names
}

// TestEveryCheckCanFail breaks what checks examine and expects them to say so.
func TestEveryCheckCanFail(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	// Which of the functions makes a check.
	maker := map[string]int{}
	short := newTestSubject(workers)
	short.samples = 1 << 9
	for i, check := range short.checks() {
		check(func(c engine.Check) { maker[c.Name] = i })
	}
	for _, f := range faults() {
		outcomes := map[int][]engine.Check{}
		for _, name := range f.checks {
			i, known := maker[name]
			require.True(t, known, name)
			if outcomes[i] == nil {
				v := newTestSubject(workers)
				v.samples = 1 << 12
				f.spoil(v)
				v.checks()[i](func(c engine.Check) { outcomes[i] = append(outcomes[i], c) })
			}
			at := slices.IndexFunc(outcomes[i], func(c engine.Check) bool { return c.Name == name })
			c := outcomes[i][at]
			require.False(t, c.OK, "%s: %s passes with value %g and bound %g", name, f.what, c.Value, c.Bound)
			_, err := json.Marshal(c)
			require.NoError(t, err)
		}
	}
}
