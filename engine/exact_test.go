package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// loaded is a Sampler of a die: side i comes up with the probability q[i], and should
// with one proportional to pi[i].
type loaded struct {
	Scorer // of which it is Convert alone
	q, pi  []float64
	drawn  *int // samples so far, if not nil
	stop   func()
}

func (l loaded) Formats() []Format {
	return []Format{{Name: "side", RowBytes: 1}, {Name: "twice", RowBytes: 2}, {Name: Weighted, RowBytes: 9, Unrefined: true}}
}

func (l loaded) Reach(first, n uint64, refine int) error {
	return SampleRange(first, 1<<40, n, refine, 0)
}

func (l loaded) Sample(dst []byte, format string, _ []float32, first uint64, n, refine int) error {
	if l.drawn != nil {
		*l.drawn += n
	}
	if l.stop != nil {
		l.stop()
		return nil
	}
	from, words := rng.Stream(1, rng.SampleLatent, 0), make([]float32, 4*n)
	asm.Uniforms(words, &from, first)
	for i := range n {
		side, sum := 0, l.q[0]
		for side < len(l.q)-1 && float64(words[4*i]) >= sum {
			side++
			sum += l.q[side]
		}
		switch format {
		case "side":
			dst[i] = byte(side)
		case "twice":
			dst[2*i], dst[2*i+1] = byte(side), byte(side)
		case Weighted:
			dst[9*i] = byte(side)
			binary.LittleEndian.PutUint64(dst[9*i+1:], math.Float64bits(math.Log(l.pi[side])-math.Log(l.q[side])))
		}
	}
	return nil
}

func exactOf(t *testing.T, l loaded, format string) *Exact {
	t.Helper()
	s := &Stream{sampler: l, seed: 3, workers: pool.New(1)}
	f, err := s.Format(format)
	require.NoError(t, err)
	e, err := s.Exact(f)
	require.NoError(t, err)
	return e
}

func (l loaded) Convert(dst []byte, format string, states []byte) error {
	for i := range dst {
		dst[i] = states[i/2]
	}
	return nil
}

var die = loaded{q: []float64{0.3, 0.3, 0.2, 0.1, 0.05, 0.05}, pi: []float64{1, 2, 2, 3, 1, 3}}

// TestExactHasTheTargetsLaw: of sides counted at distances at which a chain has
// forgotten, and breaks where the acceptance ratio is upside down.
func TestExactHasTheTargetsLaw(t *testing.T) {
	long.SkipShort(t)
	const n, apart = 1 << 16, 32
	variation := func(inverted bool) (tv float64) {
		e := exactOf(t, die, "side")
		e.inverted = inverted
		draws := make([]byte, n*apart)
		require.NoError(t, e.Fill(context.Background(), draws, 0))
		var counts, total float64
		for side, p := range die.pi {
			counts = 0
			for i := 0; i < len(draws); i += apart {
				if int(draws[i]) == side {
					counts++
				}
			}
			tv += math.Abs(counts/n-p/12) / 2
			total += counts
		}
		require.Equal(t, float64(n), total)
		return tv
	}
	// E TV of exact draws is below ½√(sides/n), and exceeds that by t with a
	// probability of at most exp(−2nt²) (McDiarmid): 10⁻⁶.
	bound := 0.5*math.Sqrt(6.0/n) + math.Sqrt(math.Log(1e6)/2/n)
	require.Less(t, variation(false), bound)
	require.Greater(t, variation(true), 20*bound)
}

func TestExactIsOneStream(t *testing.T) {
	const n = 2*ExactDraws + 1000
	whole := make([]byte, n)
	require.NoError(t, exactOf(t, die, "side").Fill(context.Background(), whole, 0))
	counted := die
	counted.drawn = new(int)
	e := exactOf(t, counted, "twice")
	for _, part := range [][2]int{{0, 1}, {1, 10}, {ExactDraws - 3, ExactDraws + 3}, {5, 300}, {2*ExactDraws - 1, n}, {ExactDraws, ExactDraws + 2}} {
		twice := make([]byte, 2*(part[1]-part[0]))
		require.NoError(t, e.Fill(context.Background(), twice, uint64(part[0])))
		for i := range twice {
			require.Equal(t, whole[part[0]+i/2], twice[i], "draw %d of part %v", i/2, part)
		}
	}
	e, *counted.drawn = exactOf(t, counted, "twice"), 0
	require.NoError(t, e.Fill(context.Background(), make([]byte, 2*100), 0))
	require.Equal(t, ExactBurnIn+100, *counted.drawn, "each proposal is drawn once")
	var b bytes.Buffer
	require.NoError(t, exactOf(t, die, "side").Write(context.Background(), &b, ExactDraws-7, 100, nil))
	require.Equal(t, whole[ExactDraws-7:][:100], b.Bytes())
}

// TestExactnessOfTwoSides: from the likelier side 1/3 of the proposals are rejected,
// from the other none. A run of t rejections has the probability ¾ 3^−t.
func TestExactnessOfTwoSides(t *testing.T) {
	e := exactOf(t, loaded{q: []float64{0.5, 0.5}, pi: []float64{1, 3}}, "side")
	draws := make([]byte, 4*ExactDraws)
	require.NoError(t, e.Fill(context.Background(), draws, 0))
	x := e.Exactness()
	require.InDelta(t, 1+2*0.75*0.5, x.Time, 0.03)
	require.InDelta(t, 0.75, x.Acceptance, 0.01)
	require.InDelta(t, 0.8, x.Weights.EffectiveSize, 0.01)
	require.InDelta(t, math.Log(4), x.Weights.LogZ, 0.02)
	require.Empty(t, x.Warning)
	require.Less(t, x.Bias, 1e-100)
	require.Greater(t, x.Longest, uint64(5))
}

func TestExactWarns(t *testing.T) {
	e := exactOf(t, loaded{q: []float64{0.9997, 0.0003}, pi: []float64{1, 9}}, "side")
	require.NoError(t, e.Fill(context.Background(), make([]byte, ExactDraws), 0))
	require.NotEmpty(t, e.Exactness().Warning)

	e = exactOf(t, loaded{q: []float64{0.5, 0.5}, pi: []float64{1, math.NaN()}}, "side")
	require.ErrorContains(t, e.Fill(context.Background(), make([]byte, 1), 0), "density")
	e = exactOf(t, loaded{q: []float64{0.5, 0.5}, pi: []float64{0, 0}}, "side")
	require.ErrorContains(t, e.Fill(context.Background(), make([]byte, 1), 0), "vanish")
	// A chain that begins where π vanishes leaves that.
	e = exactOf(t, loaded{q: []float64{0.5, 0.5}, pi: []float64{0, 1}}, "side")
	draws := make([]byte, 1000)
	require.NoError(t, e.Fill(context.Background(), draws, 0))
	require.Equal(t, bytes.Repeat([]byte{1}, 1000), draws)

	require.Error(t, e.Reach(math.MaxUint64, 1))
	require.Error(t, e.Reach(1<<40, 1))
	require.NoError(t, e.Reach(1<<39, 1))
	s := &Stream{sampler: counting{3}, workers: pool.New(1)}
	f, err := s.Format("")
	require.NoError(t, err)
	_, err = s.Exact(f)
	require.ErrorContains(t, err, "density")
	s = &Stream{sampler: die, workers: pool.New(1)}
	_, err = s.Exact(die.Formats()[2])
	require.ErrorContains(t, err, "format")
}

// TestReweighing: means and variances by weights, with errors that repetitions show.
func TestReweighing(t *testing.T) {
	const repetitions, n = 2000, 500
	mean, square := 0.0, 0.0
	for side, p := range die.pi {
		mean += p / 12 * float64(side)
		square += p / 12 * float64(side*side)
	}
	within := [2]int{}
	var trusted int
	for k := range repetitions {
		rows := make([]byte, n*9)
		require.NoError(t, die.Sample(rows, Weighted, nil, uint64(k*n), n, 0))
		r, f := make([]float64, n), make([]float64, n)
		for i := range r {
			r[i] = -math.Float64frombits(binary.LittleEndian.Uint64(rows[9*i+1:]))
			f[i] = float64(rows[9*i])
		}
		w := measure.NewReweighing(r)
		if w.Trusted() {
			trusted++
		}
		m := measure.Metric{Exact: mean, Relative: true}
		m.Reweigh(w.Mean(f))
		require.InDelta(t, math.Abs(m.Reweighted.Value-mean)/mean, m.Reweighted.Error, 1e-12)
		if i := m.Reweighted.Interval; i[0] < mean && mean < i[1] {
			within[0]++
		}
		if v := w.Variance(f); math.Abs(v.Value-(square-mean*mean)) < 1.96*v.StandardError {
			within[1]++
		}
	}
	// 95 % of 2000, of which 5 standard deviations are 49, and as many for what a law of
	// 500 samples lacks of a normal one.
	for _, k := range within {
		require.InDelta(t, 0.95*repetitions, k, 100)
	}
	require.Equal(t, repetitions, trusted)

	w := measure.NewWeights([]float64{math.Inf(1), math.Inf(1)})
	require.False(t, w.Trusted())
	heavy := make([]float64, 10000)
	for i := range heavy {
		heavy[i] = math.Log(float64(i+1) / float64(len(heavy))) // w = 1/u
	}
	w = measure.NewWeights(heavy)
	require.InDelta(t, 1, w.ParetoK, 0.2)
	require.Contains(t, w.Warning, "Pareto")
	// The same tail beside much that is even: w = c + 1/u. Beyond the largest weight, of 10⁴ + c, it
	// has 1/0.3 as much unseen, of a sum of 10⁴ (c + 10): with c = 3·10³ that is 10⁻³ and a mean's
	// error by chance 10⁻². With 10³ it is less than half of that, too, but the weights are not level.
	for _, c := range []float64{1e2, 1e3, 3e3} {
		for i := range heavy {
			heavy[i] = -math.Log(c + float64(len(heavy))/float64(i+1))
		}
		w = measure.NewWeights(heavy)
		require.InDelta(t, 1, w.ParetoK, 0.2)
		require.Equal(t, c == 3e3, w.Trusted())
		require.Equal(t, c == 3e3, w.EffectiveSize >= 0.99)
	}
	few := measure.NewWeights(make([]float64, 50))
	require.Contains(t, few.Warning, "50 independent")
}

// TestExactForgetsProposalsThatWereStopped, which may be of no use.
func TestExactForgetsProposalsThatWereStopped(t *testing.T) {
	want, got := make([]byte, 500), make([]byte, 500)
	require.NoError(t, exactOf(t, die, "side").Fill(context.Background(), want, 0))
	e := exactOf(t, die, "side")
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, e.Fill(ctx, got[:100], 0))
	stopped := die
	stopped.stop = cancel
	e.stream.sampler = stopped
	require.ErrorIs(t, e.Fill(ctx, got[100:], 100), context.Canceled)
	e.stream.sampler = die
	require.NoError(t, e.Fill(context.Background(), got[100:], 100))
	require.Equal(t, want, got)
}

// lame is a die that cannot be thrown, or not be written.
type lame struct {
	loaded
	thrown, written error
}

func (l lame) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if l.thrown != nil {
		return l.thrown
	}
	return l.loaded.Sample(dst, format, params, first, n, refine)
}

func (l lame) Convert([]byte, string, []byte) error { return l.written }

// TestExactPassesErrorsOn of samples and of their conversion, while draws in the default format need none.
func TestExactPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		format          string
		thrown, written error
		want            error
	}{{"side", broken, nil, broken}, {"twice", broken, nil, broken}, {"side", nil, broken, nil}, {"twice", nil, broken, broken}} {
		e := exactOf(t, die, c.format)
		e.stream.sampler = lame{die, c.thrown, c.written}
		if e.converter != nil {
			e.converter = lame{die, nil, c.written}
		}
		require.Equal(t, c.want, e.Fill(context.Background(), make([]byte, 2), 0), "%+v", c)
		var b bytes.Buffer
		require.Equal(t, c.want, e.Write(context.Background(), &b, 0, 1, nil))
		require.Equal(t, c.want == nil, b.Len() > 0)
	}
}
