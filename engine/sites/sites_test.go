package sites

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// bytes3 are configurations of three bytes. Format "double" holds each byte twice.
type bytes3 struct{}

func (bytes3) Words() int         { return 3 }
func (bytes3) Sites() int         { return 3 }
func (bytes3) MaxSamples() uint64 { return 1 << 20 }

func (bytes3) Formats() []engine.Format {
	return []engine.Format{
		{Name: "plain", Descr: "'|u1'", Shape: []int{3}, RowBytes: 3, Doc: "bytes"},
		{Name: "double", Descr: "'|u1'", Shape: []int{6}, RowBytes: 6, Doc: "pairs"},
	}
}

func (bytes3) Read(format string, states []byte) ([]byte, error) {
	if n := len(states); n > 0 && states[n-1] == 255 {
		return nil, errors.New("255 is no last state")
	}
	if format == "plain" {
		return slices.Clone(states), nil
	}
	var all []byte
	for i := 0; i < len(states); i += 2 {
		all = append(all, states[i])
	}
	return all, nil
}

func (bytes3) Write(dst []byte, format string, batch []byte) {
	for i, x := range batch {
		if format == "plain" {
			dst[i] = x
		} else {
			dst[2*i], dst[2*i+1] = x, x
		}
	}
}

// Disperse sets a configuration to its number.
func (bytes3) Disperse(batch []byte, _ *rng.Counter, first uint64) {
	for i := range batch {
		batch[i] = byte(first) + byte(i/3)
	}
}

// Stir adds what names the call and the configuration to the last byte.
func (bytes3) Stir(batch []byte, c rng.Counter, first uint64) {
	for i := 2; i < len(batch); i += 3 {
		batch[i] += byte(c.Step) + byte(first) + byte(i/3)
	}
}

// A shift adds steps·(scale + the call) to the first byte of a configuration, and its number to
// the second, in blocks of together.
type shift struct {
	together, most int
	scale          byte
}

func (k shift) BlockSize() int { return k.together }
func (k shift) MaxSteps() int  { return k.most }

func (k shift) Run(_ func() bool, dst, src []byte, lo, hi, steps int, c *rng.Counter, first uint64, _ *bitspin.Count) {
	if lo%k.together != 0 || (first+uint64(lo))%uint64(k.together) != 0 {
		panic("a block is cut")
	}
	for i := lo; i < hi; i++ {
		dst[3*i] = src[3*i] + byte(steps)*(k.scale+byte(c.Step))
		dst[3*i+1] = src[3*i+1] + byte(first+uint64(i))
		dst[3*i+2] = src[3*i+2]
	}
}

// numbered are samples that are their number, of which R is a function.
type numbered struct{ calls *int }

func (d numbered) Generate(dst []byte, r []float64, first uint64) {
	*d.calls++
	for i := range dst {
		n := first + uint64(i/3)
		dst[i] = byte(n >> (8 * (i % 3)))
	}
	for i := range r {
		r[i] = float64(first+uint64(i)) / 2
	}
}

func number(config []byte) float64 {
	return float64(config[0]) + 256*float64(config[1]) + 65536*float64(config[2])
}

// ensemble returns one with a density, whose energy is a configuration's number, with the number
// of calls of its generator.
func ensemble(workers *pool.Pool, together int) (e *Ensemble[byte], calls *int) {
	calls = new(int)
	e = &Ensemble[byte]{
		States: bytes3{}, Beta: 0.5, Kernel: shift{together, 1000, 1}, Names: []string{"first", "energy"}, Seed: 7, Workers: workers,
		Energy: func(dst []float64, batch []byte) {
			for i := range dst {
				dst[i] = number(batch[3*i:])
			}
		},
		Mixing: func(beta float64) (Kernel[byte], error) {
			if beta == 9 {
				return nil, errors.New("too cold")
			}
			return shift{together, 1000, byte(beta * 10)}, nil
		},
		Draws: func([]float32) Draws[byte] { return numbered{calls} },
		Observe: func(values []float64, stride int, batch []byte) {
			for i := range len(batch) / 3 {
				values[i*stride], values[i*stride+1] = float64(batch[3*i]), number(batch[3*i:])
			}
		},
		Weigher: func(params []float32) func(r []float64, batch []byte) {
			return func(r []float64, batch []byte) {
				for i := range r {
					r[i] = number(batch[3*i:]) / float64(params[0])
				}
			}
		},
	}
	return e, calls
}

// TestSamples: samples in all formats, with weights, and after steps of kernels whose samples
// draw together.
func TestSamples(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, together := range []int{1, 64} {
		e, _ := ensemble(workers, together)
		formats := e.Formats()
		require.Equal(t, engine.Format{
			Name: engine.Weighted, Descr: "[('plain', '|u1', (3,)), ('log_weight', '<f8')]", RowBytes: 11,
			Doc:       "bytes; and ln w = −βE − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
			Unrefined: true,
		}, formats[2])
		const first, n = 1000, 5000
		for _, f := range formats {
			for _, refine := range []int{0, 3} {
				dst := make([]byte, n*f.RowBytes)
				err := e.Sample(dst, f.Name, nil, first, n, refine)
				if f.Unrefined && refine > 0 {
					require.EqualError(t, err, "refine: the density of refined samples is not known, and neither are their weights; leave it 0, or take another format")
					continue
				}
				require.NoError(t, err)
				var want []byte
				for k := range uint64(n) {
					x := []byte{byte(first + k), byte((first + k) >> 8), byte((first + k) >> 16)}
					if refine > 0 {
						x[0], x[1] = x[0]+3, x[1]+byte(first+k)
					}
					switch f.Name {
					case "double":
						x = []byte{x[0], x[0], x[1], x[1], x[2], x[2]}
					case engine.Weighted:
						x = binary.LittleEndian.AppendUint64(x, math.Float64bits(-float64(first+k)/2))
					}
					want = append(want, x...)
				}
				require.Equal(t, want, dst, "%s, %d steps, %d together", f.Name, refine, together)
				if f.Unrefined {
					continue
				}
				// The same by Refine.
				plain := make([]byte, n*f.RowBytes)
				require.NoError(t, e.Sample(plain, f.Name, nil, first, n, 0))
				require.NoError(t, e.Refine(plain, f.Name, first, refine))
				require.Equal(t, dst, plain)
			}
		}
		require.EqualError(t, e.Sample(nil, "csv", nil, 0, 0, 0), `format: "csv" is not plain or double`)
		require.EqualError(t, e.Sample(nil, "plain", nil, 0, 0, 1001), "refine: 1001 is not between 0 and 1000")
		require.NoError(t, e.Reach(1<<20-5, 5, 1000))
		require.EqualError(t, e.Reach(1<<20-5, 6, 0), "number: samples 1048571 to 1048576 are not all among the 1048576 of a seed; take another seed for more")
		e.Weigher = nil
		require.Len(t, e.Formats(), 2)
		require.EqualError(t, e.Sample(nil, engine.Weighted, nil, 0, 0, 0), `format: "weighted" is not plain or double`)
	}
}

// TestStates: what is read, converted, refined and scored, and what cannot be.
func TestStates(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	e, _ := ensemble(workers, 1)
	const n = 3000
	plain, double := make([]byte, 3*n), make([]byte, 6*n)
	for i := range plain {
		plain[i] = byte(i*7%251 + i%3)
	}
	bytes3{}.Write(double, "double", plain)
	got := make([]byte, 6*n)
	require.NoError(t, e.Convert(got, "double", plain))
	require.Equal(t, double, got)
	for format, states := range map[string][]byte{"plain": plain, "double": double} {
		energies := make([]float64, n)
		beta, err := e.Energies(energies, format, states)
		require.NoError(t, err)
		require.Equal(t, 0.5, beta)
		require.Equal(t, []string{"first", "energy", engine.LogWeight}, e.Observables())
		for _, params := range [][]float32{nil, {4}} {
			values := make([]float64, 3*n)
			require.NoError(t, e.Score(values, params, format, states))
			for i := range n {
				x := number(plain[3*i:])
				require.Equal(t, x, energies[i])
				require.Equal(t, []float64{float64(plain[3*i]), x}, values[3*i:][:2])
				if params == nil {
					require.True(t, math.IsNaN(values[3*i+2]))
				} else {
					require.Equal(t, -x/4, values[3*i+2])
				}
			}
		}
		_, err = e.Energies(energies[1:], format, states)
		require.EqualError(t, err, "states: there are 3000 for 2999 energies")
		require.EqualError(t, e.Score(energies, nil, format, states), "states: there are 3000 for 3000 values of 3 each")
		require.NoError(t, e.Refine(states, format, 0, 0))
		require.EqualError(t, e.Refine(states, format, 1<<20, 0), "number: samples 1048576 to 1051575 are not all among the 1048576 of a seed; take another seed for more")
	}
	for states, want := range map[string]string{
		"ab":        "states: 2 bytes are not a number of configurations of 3 sites in format plain",
		"ab\xff":    "255 is no last state",
		"abcdefgh":  "states: 8 bytes are not a number of configurations of 3 sites in format plain",
		"abcde\xff": "255 is no last state",
	} {
		values := make([]float64, 9)
		_, err := e.Energies(values[:1], "plain", []byte(states))
		require.EqualError(t, err, want)
		require.EqualError(t, e.Score(values[:3], nil, "plain", []byte(states)), want)
		require.EqualError(t, e.Refine([]byte(states), "plain", 0, 1), want)
		require.EqualError(t, e.Convert(make([]byte, 12), "double", []byte(states)), want)
	}
	require.EqualError(t, e.Convert(nil, "csv", nil), `format: "csv" is not plain or double`)
	_, err := e.Energies(nil, "csv", nil)
	require.EqualError(t, err, `format: "csv" is not plain or double`)
	e.Weigher = nil
	require.Equal(t, []string{"first", "energy"}, e.Observables())
	values := make([]float64, 2)
	require.NoError(t, e.Score(values, []float32{1}, "plain", []byte{1, 2, 0}))
	require.Equal(t, []float64{1, 513}, values)
}

// TestMeasured: samples come in parts, with their R where they are known, and are drawn once for
// all who ask for the same.
func TestMeasured(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	e, calls := ensemble(workers, 1)
	ctx := context.Background()
	measured := func(params []float32, samples, refine, atOnce int) (all []byte, r []float64, sizes []int) {
		require.NoError(t, e.Measure(ctx, params, samples, refine, atOnce, func(batch []byte, part []float64) {
			all, r, sizes = append(all, batch...), append(r, part...), append(sizes, len(batch)/3)
			require.Equal(t, refine == 0, part != nil)
			if part != nil {
				require.Equal(t, len(batch)/3, len(part))
			}
		}))
		return all, r, sizes
	}
	check := func(all []byte, r []float64, n int, moved byte) {
		require.Len(t, all, 3*n)
		for i := range n {
			require.Equal(t, []byte{byte(i) + 2*moved, byte(i>>8) + byte(i)*moved, 0}, all[3*i:][:3])
			if moved == 0 {
				require.Equal(t, float64(i)/2, r[i])
			}
		}
	}
	all, r, sizes := measured([]float32{1}, 25, 0, 10)
	check(all, r, 25, 0)
	require.Equal(t, []int{10, 10, 5}, sizes)
	require.Equal(t, 3, *calls)
	all, r, _ = measured([]float32{1}, 20, 0, 7) // kept
	check(all, r, 20, 0)
	require.Equal(t, 3, *calls)
	all, _, _ = measured([]float32{1}, 25, 2, 10) // and moved
	check(all, nil, 25, 1)
	require.Equal(t, 3, *calls)
	dst := make([]byte, 3*24)
	require.NoError(t, e.Sample(dst, "plain", []float32{1}, 1, 24, 0))
	require.Equal(t, 3, *calls)
	require.Equal(t, byte(24), dst[3*23])
	require.NoError(t, e.Sample(dst, "plain", []float32{1}, 2, 24, 0)) // one too many
	require.Equal(t, 4, *calls)
	require.Equal(t, byte(25), dst[3*23])
	all, r, _ = measured([]float32{2}, 25, 0, 30) // of another generator
	check(all, r, 25, 0)
	require.Equal(t, 5, *calls)
	all, r, _ = measured([]float32{2}, 26, 0, 30) // too few are kept
	check(all, r, 26, 0)
	require.Equal(t, 6, *calls)
	states := e.kept.states
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, context.Canceled, e.Measure(ended, []float32{3}, 5, 0, 5, nil))
	require.Equal(t, []float32{2}, e.kept.params)
	require.Equal(t, states, e.kept.states)

	e.States, e.Draws = wide{}, func([]float32) Draws[byte] { return blank{} }
	for _, samples := range []int{64, 65} { // as many bytes as are kept, and more
		require.NoError(t, e.Measure(ctx, []float32{float32(samples)}, samples, 0, 10, func(batch []byte, r []float64) {
			require.Len(t, batch, len(r)<<20)
		}))
		require.Equal(t, []float32{64}, e.kept.params)
		require.Len(t, e.kept.states, maxKeptBytes)
	}
}

// wide are configurations of 2²⁰ bytes.
type wide struct{ bytes3 }

func (wide) Words() int { return 1 << 20 }

// blank are samples that are all 0.
type blank struct{}

func (blank) Generate([]byte, []float64, uint64) {}

// TestReweigh compares rows of a table with what package measure says of all samples.
func TestReweigh(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	e, _ := ensemble(workers, 1)
	const n = 1<<14 + 1000
	e.Energy = func(dst []float64, batch []byte) {
		for i := range dst {
			dst[i] = math.Sin(number(batch[3*i:]))
		}
	}
	e.Draws = func([]float32) Draws[byte] { return scaled{} }
	order := func(config []byte) float64 { return math.Cos(number(config)) }
	var r, energies, orders []float64
	for i := range n {
		r, energies, orders = append(r, scaledR(uint64(i))), append(energies, math.Sin(float64(i))), append(orders, math.Cos(float64(i)))
	}
	out := measure.Evaluation{Samples: n}
	names := []string{"other", "energy", "order", "abs_magnetisation", "specific_heat", "susceptibility"}
	for _, name := range names {
		out.Metrics = append(out.Metrics, measure.Metric{Name: name})
	}
	want := slices.Clone(out.Metrics)
	require.NoError(t, e.Reweigh(context.Background(), nil, &out, 1.5, 0.25, order))
	weights := measure.NewReweighing(r)
	require.Equal(t, &weights.Weights, out.Weights)
	apply := func(k int, scale float64, of func(x []float64) measure.WeightedMean, x []float64) {
		a := of(x)
		want[k].Reweigh(measure.WeightedMean{Value: scale * a.Value, StandardError: scale * a.StandardError, Apart: scale * a.Apart, Reach: scale * a.Reach})
	}
	apply(1, 1, weights.Mean, energies)
	apply(2, 1, weights.Mean, orders)
	apply(3, 1, weights.Mean, orders)
	apply(4, 0.25, weights.Variance, energies)
	apply(5, 1.5, weights.Variance, orders)
	for _, m := range measure.ImportanceMetrics(r, 1.5) {
		if m.Name != "effective_sample_size" {
			m.Uncertainty = 0.25
		} else {
			require.Less(t, m.Generated, 0.5)
			require.Equal(t, []string{fmt.Sprintf("the effective sample size is %.3g of the samples: use their weights (sample --format weighted)", m.Generated)}, out.Warnings)
		}
		want = append(want, m)
	}
	require.Equal(t, want, out.Metrics)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, context.Canceled, e.Reweigh(ended, []float32{1}, &out, 0, 0, order))
}

// scaled are samples that are their number, with an R of large variance.
type scaled struct{}

func scaledR(n uint64) float64 { return 2 * math.Sin(float64(3*n+1)) }

func (scaled) Generate(dst []byte, r []float64, first uint64) {
	numbered{new(int)}.Generate(dst, nil, first)
	for i := range r {
		r[i] = scaledR(first + uint64(i))
	}
}

// TestWalks: walks begin with samples, or dispersed, and take steps with the numbers of their
// samples in slices of calls.
func TestWalks(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, together := range []int{1, 64} {
		e, _ := ensemble(workers, together)
		ctx := context.Background()
		const n, first = 300, 70
		_, err := e.Walk(nil, 1<<20, 1)
		require.ErrorContains(t, err, "take another seed")
		w, err := e.Walk([]float32{4}, first, n)
		require.NoError(t, err)
		require.Equal(t, 1000, w.(*Walk[byte]).Slice)
		w.(*Walk[byte]).Slice = 4
		require.NoError(t, w.Advance(ctx, 10))
		lo, hi := w.Own()
		require.Equal(t, []int{0, n}, []int{lo, hi})
		values, alone := make([]float64, 3*n), slices.Repeat([]float64{-1}, 3*n)
		w.Observe(values)
		w.ObserveUnweighted(alone)
		states := make([]byte, 6*n)
		require.NoError(t, w.States(states, "double"))
		start := first / together * together
		for i := range n {
			number0 := first + i
			x := byte(number0) + 4*1 + 4*2 + 2*3 // in calls 0, 1 and 2
			y := byte(number0>>8) + 3*byte(start+i)
			require.Equal(t, []byte{x, x, y, y, 0, 0}, states[6*i:][:6], "%d together", together)
			e := float64(x) + 256*float64(y)
			require.Equal(t, []float64{float64(x), e, -e / 4}, values[3*i:][:3])
			require.Equal(t, []float64{float64(x), e, -1}, alone[3*i:][:3])
		}
		require.EqualError(t, w.States(states, "csv"), `format: "csv" is not plain or double`)

		c, err := e.Chains([]float32{4}, n)
		require.NoError(t, err)
		require.NoError(t, c.Advance(ctx, 2))
		require.NoError(t, c.States(states[:3*n], "plain"))
		for i := range n {
			require.Equal(t, []byte{byte(i) + 2*5, byte(2 * i), byte(2*i) + 1}, states[3*i:][:3]) // stirred with the numbers of call 1
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.Equal(t, context.Canceled, c.Advance(ended, 1))
		e.Beta = 9
		_, err = e.Chains(nil, n)
		require.EqualError(t, err, "target: too cold")
	}
	// Slices are short where there are many sites, and as long as a stream at most.
	e, _ := ensemble(workers, 1)
	for n, want := range map[int]int{0: 1000, 1 << 20: 21, 1<<26/3 + 1: 1} {
		require.Equal(t, want, e.NewWalk([]float32{1}, e.Kernel, rng.WalkTransition, n).Slice)
	}
}

// TestLadder compares rounds with the definition: a step of each level, swaps of every other
// pair by their draws, then stirring.
func TestLadder(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, together := range []int{1, 64} {
		e, _ := ensemble(workers, together)
		e.Energy = func(dst []float64, batch []byte) {
			for i := range dst {
				dst[i] = float64(batch[3*i]%16) + float64(batch[3*i+1]%8)
			}
		}
		ctx := context.Background()
		betas := []float64{0.1, 0.25, 0.5, 0.6}
		const n, rounds = 300, 5
		l, err := e.Ladder(betas, n)
		require.NoError(t, err)
		want := make([][]byte, len(betas))
		for k := range want {
			want[k] = make([]byte, 3*n)
			bytes3{}.Disperse(want[k], nil, uint64(k*n))
		}
		require.NoError(t, l.Advance(ctx, rounds))
		var accepted, proposed [4]uint64
		draws := make([]uint32, 4*75)
		for round := range uint32(rounds) {
			energies := make([][]float64, len(betas))
			for k, beta := range betas {
				c := rng.Stream(7, rng.ChainTransition, round)
				shift{together, 1000, byte(beta * 10)}.Run(nil, want[k], want[k], 0, n, 1, &c, uint64(k*512), nil)
				energies[k] = make([]float64, n)
				e.Energy(energies[k], want[k])
			}
			for k := int(round % 2); k < 3; k += 2 {
				c := rng.Stream(7, rng.LadderSwap, round)
				asm.PhiloxBlocks(draws, &c, uint64(k)*75)
				for i := range n {
					proposed[k]++
					if (float64(draws[i])+0.5)*0x1p-32 < math.Exp((betas[k]-betas[k+1])*(energies[k][i]-energies[k+1][i])) {
						accepted[k]++
						for j := 3 * i; j < 3*i+3; j++ {
							want[k][j], want[k+1][j] = want[k+1][j], want[k][j]
						}
					}
				}
			}
			for k := range betas {
				bytes3{}.Stir(want[k], rng.Stream(7, rng.ChainStart, round+1), uint64(k*512))
			}
		}
		lo, hi := l.Level(0).Own()
		require.Equal(t, []int{0, n}, []int{lo, hi})
		for k := range betas {
			states, values := make([]byte, 3*n), slices.Repeat([]float64{-1}, 3*n)
			require.NoError(t, l.Level(k).States(states, "plain"))
			require.Equal(t, want[k], states, "level %d", k)
			l.Level(k).ObserveUnweighted(values)
			require.Equal(t, []float64{float64(want[k][3*n-3]), number(want[k][3*n-3:]), -1}, values[3*n-3:])
			a, p := l.Swaps(k)
			require.Equal(t, []uint64{accepted[k], proposed[k]}, []uint64{a, p})
		}
		require.Greater(t, accepted[0], uint64(0))
		require.Less(t, accepted[0], proposed[0])
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.Equal(t, context.Canceled, l.Advance(ended, 1))
		l.(*Ladder[byte]).steps = math.MaxUint32
		require.EqualError(t, l.Advance(ctx, 1), "the chains' random numbers have come to their end")
		require.NoError(t, l.Advance(ctx, 0))

		_, err = e.Ladder([]float64{0, 0.5, 0.5}, 3)
		require.EqualError(t, err, "inverse temperature 0.5 comes after 0.5; they must ascend")
		_, err = e.Ladder([]float64{0, 9}, 3)
		require.EqualError(t, err, "inverse temperature 9: too cold")
		all := make([]float64, 1<<20/512) // a level more has no numbers
		for k := range all {
			all[k] = float64(k) / 1e6
		}
		_, err = e.Ladder(all, 512)
		require.NoError(t, err)
		_, err = e.Ladder(append(all, 1), 512)
		require.EqualError(t, err, "number: samples 1048576 to 1049087 are not all among the 1048576 of a seed; take another seed for more")
		_, err = e.Ladder(append(all, 1), 1)
		require.ErrorContains(t, err, "number: samples 1048576 to 1048576")
	}
	require.Equal(t, []int{128, 128, 192, 130, 200}, []int{
		PieceOf(shift{together: 1}), PieceOf(shift{together: 64}), PieceOf(shift{together: 96}), PieceOf(shift{together: 65}), PieceOf(shift{together: 200}),
	})
}

// A hall is a Workspace of samples whose R is their number, and whose two words are ten times that and
// the seed, and one more. R of given configurations is the sum of their words.
type hall struct {
	Workspace[uint64]
	most, together int
	number         []uint64
	given          [][]uint64
	r              [][block]float64
}

func (h *hall) fits(lo, hi int) {
	if lo >= hi || hi-lo > h.together || hi > h.most {
		panic("too many")
	}
}

func (h *hall) R(k int) *[block]float64 { return &h.r[k] }

func (h *hall) Draw(lo, hi int, _ *rng.Counter, first uint64) {
	h.fits(lo, hi)
	for k := lo; k < hi; k++ {
		for i := range h.r[k] {
			h.r[k][i] = float64((first+uint64(k-lo))*block + uint64(i))
		}
	}
}

func (h *hall) Complete(k int, stream *rng.Counter, number uint64) {
	h.number[k] = 10*number*block + stream.Seed
}

func (h *hall) Write(dst []uint64, k, from int) {
	for i := range dst {
		dst[i] = h.number[k] + 10*uint64(from+i/2) + uint64(i%2)
	}
}

func (h *hall) Read(k int, from []uint64) { h.given[k] = from }

func (h *hall) Score(lo, hi int) {
	h.fits(lo, hi)
	for k := lo; k < hi; k++ {
		clear(h.r[k][:])
		for i, x := range h.given[k] {
			h.r[k][i/2] += float64(x)
		}
	}
}

// TestSampler: blocks are drawn and scored together, whichever samples are asked for.
func TestSampler(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const words, most, together = 2, 5, 2
	b := NewSampler[uint64](words, most, together, &hall{most: most, together: together,
		number: make([]uint64, most), given: make([][]uint64, most), r: make([][block]float64, most)}, workers)
	require.Equal(t, words, b.Words())
	for _, c := range [][2]int{{0, 1}, {0, 64}, {63, 1}, {63, 2}, {5, 1000}, {640, 320}, {700, 321}} {
		first, n := c[0], c[1]
		batch, r := make([]uint64, 2*n), make([]float64, n)
		require.NoError(t, b.Sample(batch, r, 3, uint64(first)))
		require.Equal(t, rng.Stream(3, rng.SampleHead, 0), b.stream)
		again, sums := make([]float64, n), make([]float64, n)
		require.NoError(t, b.Sample(nil, again, 3, uint64(first)))
		require.Equal(t, r, again)
		b.R(sums, batch)
		for i := range n {
			x := uint64(10*(first+i) + 3)
			require.Equal(t, float64(first+i), r[i])
			require.Equal(t, []uint64{x, x + 1}, batch[2*i:][:2])
			require.Equal(t, float64(2*x+1), sums[i])
		}
		require.Nil(t, b.r)
		require.Nil(t, b.batch)
	}
	require.NoError(t, b.Sample(nil, make([]float64, 3), 1, MaxSamples-3))
	require.ErrorContains(t, b.Sample(nil, make([]float64, 4), 1, MaxSamples-3), "are not all among the 1099511627776 of a seed")
	require.PanicsWithValue(t, "sites: configurations of length 3, not 4", func() { b.R(make([]float64, 2), make([]uint64, 3)) })
	require.PanicsWithValue(t, "sites: configurations of length 3, not 4", func() { _ = b.Sample(make([]uint64, 3), make([]float64, 2), 1, 0) })
	d := &seededDraws[uint64]{Sampler: b, seed: 3}
	batch, r := make([]uint64, 6), make([]float64, 3)
	d.Generate(batch, nil, 4)
	require.Equal(t, []uint64{43, 44, 53, 54, 63, 64}, batch)
	d.Generate(nil, r, 4)
	require.Equal(t, []float64{4, 5, 6}, r)
	require.Panics(t, func() { d.Generate(batch, nil, MaxSamples) })
}

// TestObservesOwn: a rank observes its own configurations, whatever those of others are.
func TestObservesOwn(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	e, _ := ensemble(workers, 1)
	o := e.Observed([]float32{2}, 5)
	for i := range o.Batch {
		o.Batch[i] = byte(i / 3)
	}
	for lo := range 6 {
		for hi := lo; hi <= 5; hi++ {
			o.lo, o.hi = lo, hi
			values, want := make([]float64, 15), make([]float64, 15)
			o.Observe(values)
			for i := lo; i < hi; i++ {
				n := number(o.Batch[3*i:])
				want[3*i], want[3*i+1], want[3*i+2] = float64(i), n, -n/2
			}
			require.Equal(t, want, values, "%d to %d", lo, hi)
		}
	}
}
