package density

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/target/density/program"
)

// told is a source of one state at a time, in float64.
type told func(x []float32, k int) float64

func (f told) Evaluate(dst []float64, x []float32, k []uint8) error {
	d := len(x) / len(dst)
	for r := range dst {
		mode := 0
		if k != nil {
			mode = int(k[r])
		}
		dst[r] = f(x[r*d:(r+1)*d], mode)
	}
	return nil
}

// refusing is a source that fails.
type refusing struct{}

func (refusing) Evaluate([]float64, []float32, []uint8) error { return errors.New("no answer") }

// walkingBy is the beginning of a pilot of a source.
func walkingBy(t *testing.T, dim int, s source) *pilotWalk {
	w := walking(t, formula{dim: dim, of: quadratic}, 0)
	w.e.source = s
	return w
}

// TestRoundWithin: as few digits as leave a number where it is, but no fewer than three.
func TestRoundWithin(t *testing.T) {
	third, err := strconv.ParseFloat("0.333333333333333", 64)
	require.NoError(t, err)
	for _, c := range []struct{ x, loose, want float64 }{
		{1234.5678, 100, 1230}, {1234, 4, 1230}, {1234, 3.99, 1234}, {1234.5678, 0.5, 1235}, {1234.5678, 0.4, 1234.6}, {1234.5678, 0.03, 1234.57}, {-1234.5678, 0, -1234.5678}, {1. / 3, 0, third}, {0, 0, 0},
	} {
		require.Equal(t, c.want, roundWithin(c.x, c.loose), "%v", c)
	}
	ridge := location{center: []float64{10.04, 5.3}, scale: []float64{1, 0.1}, shear: [][]float64{{2}}}
	center, _ := ridge.rounded() // the second moves with the first, twice as far
	require.InDeltaSlice(t, []float64{10, 5.22}, center, 1e-12)
	require.Equal(t, ", on a ridge", ridge.ridgeNote())
	require.Empty(t, (&location{}).ridgeNote())
}

// TestMoveStragglers: chains more than ten times the dimension below the median go where others are, with
// all that was seen of them.
func TestMoveStragglers(t *testing.T) {
	const d = 2
	w := walkingBy(t, d, told(quadratic))
	for i := range w.x {
		w.x[i] = float32(i)
	}
	for range 2 {
		for i := range w.x {
			w.lastRound = append(w.lastRound, float32(len(w.lastRound)+1000+i))
		}
	}
	for r := range w.logPi {
		w.logPi[r] = float64(4 + r) // of half of them from 5 on
		if r == 0 || r >= 32 && r < 63 {
			w.logPi[r] = 1
		}
	}
	w.logPi[0], w.logPi[40], w.logPi[41] = math.Inf(-1), 5-10*d, 5-10*d-0.001
	x, seen, current := slices.Clone(w.x), slices.Clone(w.lastRound), slices.Clone(w.logPi)
	w.moveStragglers()
	for to, from := range map[int]int{0: 1, 41: 43} { // of those that stay, the 0th and the 41st
		current[to] = current[from]
		copy(x[to*d:], x[from*d:][:d])
		for first := 0; first < len(seen); first += len(x) {
			copy(seen[first+to*d:], seen[first+from*d:][:d])
		}
	}
	require.Equal(t, current, w.logPi)
	require.Equal(t, x, w.x)
	require.Equal(t, seen, w.lastRound)
}

// TestRidges: the shape of chains is one where it is narrow, and narrower than by chance, ln π
// between chains is no lower than at both but for four pairs in 32, and there are more chains than
// coordinates.
func TestRidges(t *testing.T) {
	for _, c := range []struct {
		d, lower int
		narrow   float64
		want     bool
	}{{3, 4, 0.68, true}, {3, 5, 0.68, false}, {3, 0, 0.7, false}, {32, 0, 0.48, true}, {32, 0, 0.52, false}, {33, 0, 0.1, false}} {
		d := c.d
		w := walkingBy(t, d, told(func([]float32, int) float64 { return 0 }))
		for r := range w.logPi {
			if w.logPi[r] = 1; r%32 < c.lower || r == 20 { // of one pair, one alone
				w.logPi[r] = 1.001
			}
		}
		w.mean = make([]float64, d)
		w.shape = make([]float64, d*(d+1)/2)
		for i := range d {
			w.mean[i], w.scale[i] = float64(i), float64(i+1)
			w.shape[i*(i+1)/2+i] = 1
		}
		last := w.shape[(d-1)*d/2:]
		last[0], last[d-2], last[d-1] = -math.Sqrt(0.64-c.narrow*c.narrow), 0.6, c.narrow
		w.mean[1] = 1e7 // where states are one apart
		at := location{center: make([]float64, d), scale: make([]float64, d)}
		require.NoError(t, w.findShear(&at))
		if !c.want {
			require.Nil(t, at.shear)
			require.Zero(t, at.center[1])
			continue
		}
		require.Equal(t, w.mean, at.center)
		require.Len(t, at.shear, d-1)
		require.Equal(t, 1.0, at.scale[0])
		require.Equal(t, 4.0, at.scale[1])
		width := float64(d) * c.narrow
		require.InDelta(t, width, at.scale[d-1], 1e-12)
		row := at.shear[d-2]
		require.Len(t, row, d-1)
		for j, v := range row {
			exact := float64(d) * last[j] / float64(j+1)
			require.InDelta(t, exact, v, 0.03*width/at.scale[j])
			require.Equal(t, roundWithin(exact, 0.03*width/at.scale[j]), v)
		}
	}
	broken := walkingBy(t, 2, refusing{})
	broken.shape, broken.mean = []float64{1, 1, 0.01}, make([]float64, 2)
	require.EqualError(t, broken.findShear(new(location)), "no answer")
}

// TestRoundsOfAPilot counts them, and what is kept of the last, of chains whose every step is
// refused: more than asked for follow where a scale grew by more than a quarter, and three where
// one fell by more than half.
func TestRoundsOfAPilot(t *testing.T) {
	const apart = 51 / (2 * 1.2816) // of the numbers 0 … 63
	for _, c := range []struct {
		scale       float64 // at first
		least, most int
		rounds      int
	}{{1, 1, 60, 1}, {1, 4, 60, 4}, {1 / 1.24, 1, 60, 1}, {1 / 1.26, 1, 60, 2}, {1 / 1.26, 1, 1, 1}, {1 / 0.51, 1, 60, 1}, {1 / 0.49, 1, 60, 4}, {1 / 0.49, 1, 2, 2}, {1 / 0.49, 6, 60, 6}} {
		asked := 0
		w := walkingBy(t, 1, told(func([]float32, int) float64 { asked++; return math.Inf(-1) }))
		for r := range w.x {
			w.x[r] = float32(r)
		}
		w.scale[0] = c.scale * apart
		require.NoError(t, w.settle(c.least, c.most))
		require.Equal(t, c.rounds*40*pilotChains, asked, "%v", c)
		require.Equal(t, c.rounds*40, w.taken)
		require.Len(t, w.lastRound, 20*pilotChains)
		require.InDelta(t, apart, w.scale[0], 1e-12)
	}
	require.EqualError(t, walkingBy(t, 1, refusing{}).settle(1, 1), "no answer")
	require.EqualError(t, walkingBy(t, 1, refusing{}).begin(), "no answer")
}

// TestUnfallenLines: lines on which weight falls less than a power of the distance does, at last
// and never by much before.
func TestUnfallenLines(t *testing.T) {
	for power := 1; power <= 3; power++ {
		profile := func(row, k int) float64 { // beside that power
			at := map[int]map[int]float64{
				0: {}, 1: {5: -4.99}, 2: {5: -5.01}, 3: {20: -0.0069}, 4: {20: -0.00694}, 5: {10: 0.01}, 6: {9: 0.01}, 7: {11: 0.01},
				8: {3: math.NaN()}, 9: {20: 7}, 10: {0: 5.01}, 11: {3: math.Inf(1)}, 63: {},
			}[row]
			if at == nil {
				return -float64(k)
			}
			return at[k]
		}
		f := func(x []float32, _ int) float64 {
			k := math.Log2(float64(x[0]))
			return profile(int(x[1]), int(k)) - float64(power)*k*math.Ln2
		}
		w := walkingBy(t, 2, told(f))
		start, step := make([]float64, 2*pilotChains), make([]float64, 2*pilotChains)
		for r := range pilotChains {
			start[2*r+1], step[2*r] = float64(r), 1
		}
		require.Equal(t, []int{0, 1, 3, 6, 7, 9, 63}, w.flatTails(start, step, power))
		require.EqualError(t, w.flatTailError("somewhere", start, step, 9, power), fmt.Sprintf("target: π cannot be normalised, as far as can be seen: somewhere its weight does not fall with the distance; ln π is %.6g at %s and %.6g at %s, 1024 times as far, where it would have to be %.6g less; bound the coordinates with target.support, or say where the weight is with target.center and target.scale",
			-float64(power)*10*math.Ln2, program.State([]float32{1024, 9}, nil), 7-float64(power)*20*math.Ln2, program.State([]float32{1 << 20, 9}, nil), float64(power)*10*math.Ln2))
	}
	broken := walkingBy(t, 2, refusing{})
	require.Nil(t, broken.flatTails(make([]float64, 2*pilotChains), make([]float64, 2*pilotChains), 1))
	require.NoError(t, broken.e.Err(), "of so far out nothing is said")
}

// TestEndlessTargets: eight of the rays are needed, and one line of any coordinate.
func TestEndlessTargets(t *testing.T) {
	unit := func(d int) location {
		return location{center: make([]float64, d), scale: slices.Repeat([]float64{1}, d)}
	}
	rays := make([]float32, 2*pilotChains)
	c := rng.Stream(0x70, rng.ChainStart, uint32(len(pilotReaches)))
	rng.Normals(rays, 2, &c, 0)
	var angles []float64
	for r := range pilotChains {
		angles = append(angles, math.Atan2(float64(rays[2*r+1]), float64(rays[2*r])))
	}
	slices.Sort(angles)
	for n, want := range map[int]string{7: "", 8: "in 8 of 64 directions"} {
		limit := (angles[n-1] + angles[n]) / 2
		w := walkingBy(t, 2, told(func(x []float32, _ int) float64 {
			r := math.Hypot(float64(x[0]), float64(x[1]))
			if math.Atan2(float64(x[1]), float64(x[0])) < limit {
				return -2 * math.Log(r)
			}
			return -r * r
		}))
		err := w.checkTails(unit(2))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	const d = 70
	for _, sign := range []float32{1, -1} {
		for at := range d {
			if at > 2 && at < 30 || at > 34 && at < 62 {
				continue
			}
			w := walkingBy(t, d, told(func(x []float32, _ int) (sum float64) {
				for i, v := range x {
					if i == at && sign*v > 0 {
						sum -= math.Log(math.Hypot(1, float64(v)))
					} else {
						sum -= float64(v) * float64(v)
					}
				}
				return sum
			}))
			require.ErrorContains(t, w.checkTails(unit(d)), fmt.Sprintf(": along coordinate %d its weight", at))
		}
	}
}

// TestJudgements: what first values say of a target, those of all ranks together.
func TestJudgements(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	broken := errors.New("broken")
	for _, c := range []struct {
		seen   firstValues
		step   uint32
		err    error
		want   string
		judged bool
	}{
		{firstValues{valueRange{5, 0, 0, 0}, "x = [1]"}, 19, nil, "", false},
		{firstValues{valueRange{5, 0, 0, 0}, "x = [1]"}, 20, nil, "t: ln π is −∞ at each of 5 states, the first of them x = [1]; say where it is finite with target.center and target.scale", false},
		{firstValues{valueRange{5, 2, 3, 3}, "x = [1]"}, 19, nil, "", false},
		{firstValues{valueRange{5, 2, 3, 3}, "x = [1]"}, 20, nil, "t: ln π is 3 at each of 5 states, the first of them x = [1], and a constant cannot be normalised; bound the coordinates with target.support", false},
		{firstValues{valueRange{5, 2, 3, 4}, "x = [1]"}, 0, nil, "", true},
		{firstValues{valueRange{5, 2, 3, 4}, "x = [1]"}, 20, broken, "broken", false},
	} {
		p := &problem{key: "t", firstValues: c.seen, err: c.err}
		p.judgeValues(c.step, workers)
		require.Equal(t, c.judged, p.learnable)
		if c.want == "" {
			require.NoError(t, p.err)
		} else {
			require.EqualError(t, p.err, c.want)
		}
		require.Equal(t, c.seen, p.firstValues.ofAllRanks(workers))
	}
	done := &problem{learnable: true, firstValues: firstValues{valueRange: valueRange{states: 5}}}
	done.judgeValues(99, workers)
	require.NoError(t, done.err)

	e := &evaluation{problem: &problem{dim: 2}}
	e.recordFirstValues([]float64{math.Inf(-1), 3, 5}, []float32{1, 2, 3, 4, 5, 6}, []uint8{4, 0, 0})
	e.recordFirstValues([]float64{-2}, []float32{7, 8}, nil)
	require.Equal(t, firstValues{valueRange{4, 3, -2, 5}, program.State([]float32{1, 2}, []uint8{4})}, e.firstValues)
	e.learnable = true
	e.recordFirstValues([]float64{9}, []float32{7, 8}, nil)
	require.Equal(t, 4, e.firstValues.states)

	const size = 4
	of := [size]firstValues{{}, {valueRange{3, 2, -1, 4}, "b"}, {valueRange{2, 1, -5, 0}, "c"}, {valueRange{7, 0, -99, 99}, "d"}}
	var all [size]firstValues
	var group sync.WaitGroup
	for i, rank := range pool.Local(size) {
		group.Go(func() {
			workers := pool.New(1)
			defer workers.Close()
			workers.Join(rank)
			all[i] = of[i].ofAllRanks(workers)
		})
	}
	group.Wait()
	for i, first := range []string{"another rank's", "b", "c", "d"} {
		require.Equal(t, firstValues{valueRange{12, 3, -5, 4}, first}, all[i])
	}
}

// TestLevels: a value of more than 4096 in the middle is taken off ln π before it is rounded, of
// all blocks of states.
func TestLevels(t *testing.T) {
	for middle, level := range map[float64]float64{0: 0, 4096: 0, -4096: 0, 4096.5: 4096.5, -1e7: -1e7, math.Inf(-1): 0} {
		w := walkingBy(t, 1, told(func(x []float32, _ int) float64 { return middle - float64(x[0])/4 }))
		require.Equal(t, level, w.e.Level())
		require.Equal(t, level, w.e.Volume())
		const rows = 2*blockRows + 88
		y, got := make([]float32, rows), make([]float32, rows)
		for i := range y {
			y[i] = float32(i)
		}
		realsTarget{w.e}.LogDensity(got, y, nil)
		for i, v := range got {
			require.Equal(t, float32(middle-level-float64(i)/4), v)
		}
	}
	modal := &problem{modes: 2}
	require.Zero(t, modal.Level())
	require.Zero(t, modal.Volume())
}

// TestSizesOfTargets: the memory that evaluations take, and how large a target a recipe looks at.
func TestSizesOfTargets(t *testing.T) {
	c := new(engine.Common)
	c.Training.Batch, c.Evaluation.Samples = 640, 1600
	require.Equal(t, engine.Demand{Key: "training.batch", Bytes: 74*256*(8*3+24) + 16484*8*(3*8+24)}, (&problem{dim: 3}).demand(c))
	for _, c := range []struct {
		dim, modes int
		want       string
	}{
		{1, 0, ""}, {512, 0, ""}, {512, 4, ""}, {512, 5, "in 512 coordinates a mixture is learned of up to 4 modes"},
		{513, 0, "a mixture is learned in up to 512 coordinates"}, {400, 8, ""}, {400, 9, "in 400 coordinates a mixture is learned of up to 8 modes"},
	} {
		require.Equal(t, c.want, (&problem{dim: c.dim, modes: c.modes}).recipeLimit())
	}
	require.Equal(t, []string{"0", "1.5", "[1 2]", "[1 2 3 4]", "[1 2 3 4] … 5 numbers"}, []string{listText(nil), listText([]float64{1.5}), listText([]float64{1, 2}), listText([]float64{1, 2, 3, 4}), listText([]float64{1, 2, 3, 4, 5})})
	require.Equal(t, []string{"b", "a; b"}, []string{join("", "b"), join("a", "b")})
}

// TestProbes: a program is asked for states about where weight is, of each mode in turn, and
// nothing else is.
func TestProbes(t *testing.T) {
	const d, modes = 2, 3
	f := func(x []float32, k int) float64 { return float64(x[0]) + 10*float64(x[1]) + 1000*float64(k) }
	for _, of := range []int{0, modes} {
		w := walking(t, formula{dim: d, modes: of, of: quadratic}, 0)
		w.e.source = told(f)
		answers, err := w.e.Probe()
		require.NoError(t, err)
		require.Nil(t, answers)
		w.e.program = new(program.Workers)
		answers, err = w.e.Probe()
		require.NoError(t, err)
		require.Len(t, answers, 64)
		y := make([]float32, 64*d)
		c := rng.Stream(0x70, rng.ChainStart, 1<<31)
		rng.Normals(y, d, &c, 0)
		for r, got := range answers {
			require.Equal(t, f(y[r*d:], r%max(1, of)), got)
		}
		w.e.source = refusing{}
		_, err = w.e.Probe()
		require.EqualError(t, err, "no answer")

		states, k := w.e.states(6, rng.Reference, 0)
		c = rng.Stream(0x70, rng.Reference, 0)
		rng.Normals(y[:6*d], d, &c, 0)
		require.Equal(t, y[:6*d], states)
		if of == 0 {
			require.Nil(t, k)
			continue
		}
		require.Equal(t, []uint8{0, 1, 2, 0, 1, 2}, k)
	}
}

// TestPanels: the law of an observable between its outermost two in a thousand, of what is known
// of the samples and of the chains.
func TestPanels(t *testing.T) {
	s := &system{System: new(vectors.System), problem: &problem{dim: 7, modes: 3}, params: []float32{1}}
	s.names = (&vectors.Ensemble{Dim: 7, Chart: s.problem}).Observables()
	width := len(s.names)
	require.Equal(t, []string{"x0", "x6", "x0_squared", "x6_squared", "mean_square", "log_density"}, []string{s.names[0], s.names[6], s.names[7], s.names[13], s.names[14], s.names[15]})
	const samples, draws = 600, 900
	s.values = make([]float64, samples*width)
	s.reference = &reference{width: width, chains: 90, values: make([]float64, draws*width)}
	for i := range s.values {
		s.values[i] = float64(i / width)
	}
	for i := range s.reference.values {
		s.reference.values[i] = 600 + float64(i/width)
	}
	density := s.column("log_density")
	for r := range 100 {
		s.values[r*width+density] = math.Inf(-1)
	}
	figures, err := s.Figures(context.Background(), []float32{1}, samples)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	require.Equal(t, []string{"distributions", "Target of one's own, *d* = 7, 3 modes"}, []string{figures[0].Name, figures[0].Title})
	require.Len(t, figures[0].Rows, 2)
	for i, row := range figures[0].Rows {
		require.Len(t, row.Panels, 3)
		for j, p := range row.Panels {
			label, least := fmt.Sprintf("*x*_{%d}", 3*i+j), 0.0
			if i+j == 3 {
				label, least = "ln *π*", 100
			}
			require.Equal(t, label, p.X.Label)
			require.Equal(t, map[bool]string{true: "density"}[j == 0], p.Y.Label)
			all := 1500 - least
			low, high := least+math.Floor(all/500), 1499-math.Floor(all/500)
			margin := (high - low) / 20
			low, high = low-margin, high+margin
			require.InDeltaSlice(t, []float64{low, high}, []float64{p.X.Min, p.X.Max}, 1e-9)
			require.Equal(t, []any{figure.Area, figure.Target, "90 chains"}, []any{p.Layers[0].Mark, p.Layers[0].Role, p.Layers[0].Label})
			require.Equal(t, []any{figure.Points, figure.Generated, "generated (600 samples)"}, []any{p.Layers[1].Mark, p.Layers[1].Role, p.Layers[1].Label})
			for k, values := range [][2]float64{{600, 1500}, {least, 600}} {
				l := p.Layers[k]
				require.Len(t, l.X, 64)
				bin := (high - low) / 64
				for b, y := range l.Y {
					from, to := low+float64(b)*bin, low+float64(b+1)*bin
					require.InDelta(t, (from+to)/2, l.X[b], 1e-9)
					count := max(0, math.Ceil(min(to, values[1]))-math.Ceil(max(from, values[0])))
					require.InDelta(t, count/(values[1]-values[0])/bin, y, 1e-12)
				}
			}
			require.Nil(t, p.Layers[0].Low)
			require.Len(t, p.Layers[1].High, 64)
		}
	}
	for i := range s.values {
		s.values[i] = -7e9
	}
	clear(s.reference.values)
	for i := range s.reference.values {
		s.reference.values[i] = math.Inf(1)
	}
	p := s.panel("x1", "x")
	require.Len(t, p.Layers, 1)
	require.Equal(t, []float64{-7e9 - 7, -7e9 + 7}, []float64{p.X.Min, p.X.Max})
	for i := range s.values {
		s.values[i] = math.Inf(-1)
	}
	p = s.panel("x1", "x")
	require.Empty(t, p.Layers)
	require.InDeltaSlice(t, []float64{-1.1, 1.1}, []float64{p.X.Min, p.X.Max}, 1e-12)
}
