package spins

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

// small are graphs whose transition matrices are computed, of both ways of the
// heat bath.
func small() map[string]Hamiltonian {
	field := sparse(8, 14, 5, someSign)
	for i := range field.Spins {
		field.Fields = append(field.Fields, float64(i%3-1))
	}
	return map[string]Hamiltonian{
		"ring":         ring(8, 1),
		"odd ring":     ring(7, -0.7),
		"glass, field": field,
		"all to all":   sherringtonKirkpatrick(8, 1),
		"free":         {Spins: 2, Fields: []float64{1, 0}},
	}
}

// probability returns the chance that the heat bath sets spin i up, as it is
// computed, tables and rounding included.
func (h *heatBath) probability(config uint64, i int) float64 {
	g := h.graph
	if h.tables != nil {
		k := 0
		near, couplings := g.Neighbours(i)
		for x, j := range near {
			if (couplings[x] > 0) == (config>>j&1 == 1) {
				k++
			}
		}
		return math.Ldexp(float64(h.tables[h.tableOf[i]].thresholds[k]), -32)
	}
	x := []float32{float32(2 * h.beta * g.LocalField([]uint64{config}, i))}
	asm.Sigmoid(x, x)
	return math.Ldexp(float64(min(max(int64(x[0]*(1<<32)), 1), 1<<32-1)), -32)
}

// TestDetailedBalance computes whole transition matrices, of a step of Metropolis
// and of one sweep there and back, and compares the flows between any two
// configurations.
func TestDetailedBalance(t *testing.T) {
	long.SkipShort(t)
	for name, h := range small() {
		g := build(t, h)
		states := 1 << g.N()
		for _, beta := range []float64{0, 0.4, 3} {
			_, pi, _ := naive(&h, beta)
			// Metropolis.
			m := &Boltzmann{g, beta}
			p := make([][]float64, states)
			for s := range p {
				p[s] = make([]float64, states)
				config := []uint64{uint64(s)}
				for i := range g.N() {
					p[s][s^1<<i] += 0.75 / float64(g.N()) * math.Ldexp(float64(m.FlipOne(config, i)), -64)
				}
				p[s][states-1-s] += 0.25 * math.Ldexp(float64(m.FlipAll(config)), -64)
			}
			requireBalance(t, name, pi, p, 1e-15)

			// Sweeps.
			s, err := NewSweeper(g, beta)
			require.NoError(t, err)
			require.Equal(t, g.N() == 8 && name != "all to all" || name == "odd ring", s.heat.tables != nil, name)
			for x := range p {
				row := make([]float64, states)
				row[x] = 1
				s.order(1, func(colour int) {
					for _, i := range s.colours[colour] {
						next := make([]float64, states)
						for y, w := range row {
							up := s.heat.probability(uint64(y), int(i))
							next[y|1<<i] += w * up
							next[y&^(1<<i)] += w * (1 - up)
						}
						row = next
					}
				})
				p[x] = row
			}
			tolerance := 1e-8
			if s.heat.tables == nil {
				tolerance = 1e-6
			}
			requireBalance(t, name, pi, p, tolerance)
		}
	}
}

func requireBalance(t *testing.T, name string, pi []float64, p [][]float64, tolerance float64) {
	t.Helper()
	for x := range p {
		for y := range x {
			require.InDelta(t, pi[x]*p[x][y], pi[y]*p[y][x], tolerance, "%s: %b and %b", name, x, y)
		}
	}
}

// TestKernelsTakeTheirProbabilities: many runs from one configuration end where
// the transition matrix says. Each of the counts is binomial; 6.5 standard
// deviations are exceeded by one in 10¹⁰ of them.
func TestKernelsTakeTheirProbabilities(t *testing.T) {
	const samples, beta = 1 << 17, 0.4
	for name, h := range small() {
		g := build(t, h)
		states := 1 << g.N()
		start := uint64(0b10110100) & uint64(states-1)
		batch := make([]uint64, samples)
		for i := range batch {
			batch[i] = start
		}
		m, err := NewMetropolis(g, beta, 0.25)
		require.NoError(t, err)
		s, err := NewSweeper(g, beta)
		require.NoError(t, err)
		var st bitspin.Count
		stream := asm.Counter{Seed: 5, Purpose: 3, Step: 1}
		out := make([]uint64, samples)

		m.Run(nil, out, batch, 0, samples, 1, &stream, 0, &st)
		want := make([]float64, states)
		for i := range g.N() {
			want[start^1<<i] += 0.75 / float64(g.N()) * math.Min(1, math.Exp(-beta*g.Difference([]uint64{start}, i)))
		}
		want[uint64(states-1)^start] += 0.25 * math.Min(1, math.Exp(-beta*(g.Energy([]uint64{start ^ uint64(states-1)})-g.Energy([]uint64{start}))))
		moved := 0.0
		for _, w := range want {
			moved += w
		}
		want[start] += 1 - moved
		requireCounts(t, name, out, want)
		require.EqualValues(t, samples, st.Proposed)
		still := 0
		for _, x := range out {
			if x == start {
				still++
			}
		}
		require.EqualValues(t, samples-still, st.Accepted)

		st = bitspin.Count{}
		s.Run(nil, out, batch, 0, samples, 1, &stream, 0, &st)
		row := make([]float64, states)
		row[start] = 1
		s.order(1, func(colour int) {
			for _, i := range s.colours[colour] {
				next := make([]float64, states)
				for y, w := range row {
					f := g.LocalField([]uint64{uint64(y)}, int(i))
					up := 1 / (1 + math.Exp(-2*beta*f))
					next[y|1<<i] += w * up
					next[y&^(1<<i)] += w * (1 - up)
				}
				row = next
			}
		})
		requireCounts(t, name, out, row)
		require.EqualValues(t, samples*s.updates(1), st.Proposed)
	}
}

func requireCounts(t *testing.T, name string, out []uint64, want []float64) {
	t.Helper()
	got := make([]float64, len(want))
	for _, x := range out {
		got[x]++
	}
	n := float64(len(out))
	for x, p := range want {
		require.InDelta(t, n*p, got[x], 6.5*math.Sqrt(n*p*(1-p))+3, "%s: %b", name, x)
	}
}

// TestKernelsAreSlicesOfOneStream: ranges give the bits of the whole, in place or
// not, without allocation, on graphs wider than a word.
func TestKernelsAreSlicesOfOneStream(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		const rows = 200
		batch, _ := randomBatch(rand.New(rand.NewPCG(7, 7)), g.N(), rows)
		m, err := NewMetropolis(g, 0.5, 0.1)
		require.NoError(t, err)
		s, err := NewSweeper(g, 0.5)
		require.NoError(t, err)
		stream := asm.Counter{Seed: 9}
		for kernel, run := range map[string]func(dst, src []uint64, lo, hi int, st *bitspin.Count){
			"metropolis": func(dst, src []uint64, lo, hi int, st *bitspin.Count) {
				m.Run(nil, dst, src, lo, hi, 7, &stream, 640, st)
			},
			"sweeper": func(dst, src []uint64, lo, hi int, st *bitspin.Count) {
				s.Run(nil, dst, src, lo, hi, 2, &stream, 640, st)
			},
		} {
			var whole, parts bitspin.Count
			want, got := make([]uint64, len(batch)), make([]uint64, len(batch))
			run(want, batch, 0, rows, &whole)
			copy(got, batch)
			for _, r := range [][2]int{{128, rows}, {0, 64}, {64, 128}} {
				run(got, got, r[0], r[1], &parts)
			}
			require.Equal(t, want, got, "%s, %s", name, kernel)
			require.Equal(t, whole, parts)
			if tail := g.N() % 64; tail != 0 {
				for k := range rows {
					require.Zero(t, want[(k+1)*g.Words()-1]>>tail, "unused bits")
				}
			}
			require.Zero(t, alloctest.PerRun(3, func() { run(got, got, 0, rows, &parts) }), "%s, %s", name, kernel)
		}
	}
}

// TestSweepsWithinAStream: what lies beyond the draws of a stream panics, and says what was asked.
func TestSweepsWithinAStream(t *testing.T) {
	const rows = 64
	s, err := NewSweeper(build(t, graphs()["ring"]), 0.5)
	require.NoError(t, err)
	batch, stream := make([]uint64, rows), asm.Counter{Seed: 9}
	const last = MaxSamples - rows // whose draws end at so many of each update
	var stats bitspin.Count
	run := func(sweeps int, first uint64) func() {
		return func() { s.Run(nil, batch, batch, 0, rows, sweeps, &stream, first, &stats) }
	}
	most := sort.Search(1<<20, func(n int) bool { return s.updates(n) > 1<<52/(MaxSamples/Lanes) }) - 1
	require.NotPanics(t, run(most, last))
	require.PanicsWithValue(t, fmt.Sprintf("spins: %d sweeps of %d samples exceed a stream", most+1, uint64(MaxSamples)), run(most+1, last))
	require.PanicsWithValue(t, "spins: sweeps of samples 1 to 65, not of blocks of 64 below "+fmt.Sprint(uint64(MaxSamples)), run(1, 1))
}

// TestKernelsAreHalted in the middle of their steps.
func TestKernelsAreHalted(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		const rows = 200
		batch, _ := randomBatch(rand.New(rand.NewPCG(7, 7)), g.N(), rows)
		m, err := NewMetropolis(g, 0.5, 0.1)
		require.NoError(t, err)
		s, err := NewSweeper(g, 0.5)
		require.NoError(t, err)
		for _, k := range []Kernel{m, s} {
			asked := 0
			halted := func() bool { asked++; return asked > 100 }
			k.Run(halted, batch, batch, 0, rows, 1<<12, &asm.Counter{}, 640, new(bitspin.Count))
			require.LessOrEqual(t, asked, 101, "%s, %T", name, k)
		}
	}
}

// TestHeatBathWays: a graph whose couplings are all of one strength may be
// tabulated too. From the same configurations both ways go to the same law, which
// energies by lanes show.
func TestHeatBathWays(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		heat := newHeatBath(g, 0.3)
		batch, _ := randomBatch(rand.New(rand.NewPCG(8, 8)), g.N(), Lanes)
		want, got := make([]float64, Lanes), new([Lanes]float64)
		l := heat.newLanes()
		stream := asm.Counter{Seed: 1}
		for sweep := range 20 {
			if sweep == 0 {
				bitspin.Columns(l.spins, batch, len(l.spins), 1)
				heat.tabulate(l)
			} else {
				order := make([]int32, g.N())
				for i := range order {
					order[i] = int32(i)
				}
				stream.Step = uint32(sweep)
				heat.update(l, order, &stream, 0)
				bitspin.Rows(batch, batch, l.spins, len(l.spins), 1)
			}
			g.Energies(want, batch)
			heat.energies(got, l)
			for k := range want {
				require.InDelta(t, want[k], got[k], 1e-12*(1+g.EnergyBound()), name)
			}
		}
		// Exchanges leave the rest as it is.
		other := heat.newLanes()
		second, _ := randomBatch(rand.New(rand.NewPCG(9, 9)), g.N(), Lanes)
		bitspin.Columns(other.spins, second, len(other.spins), 1)
		heat.tabulate(other)
		const mask = uint64(0x8000_0000_1234_0001)
		heat.exchange(l, other, mask)
		for k := range Lanes {
			if mask>>k&1 != 0 {
				for w := range g.Words() {
					batch[k*g.Words()+w], second[k*g.Words()+w] = second[k*g.Words()+w], batch[k*g.Words()+w]
				}
			}
		}
		for x, l := range []*lanes{l, other} {
			configs := make([]uint64, len(batch))
			bitspin.Rows(configs, configs, l.spins, len(l.spins), 1)
			require.Equal(t, [][]uint64{batch, second}[x], configs, name)
			g.Energies(want, configs)
			heat.energies(got, l)
			for k := range want {
				require.InDelta(t, want[k], got[k], 1e-12*(1+g.EnergyBound()), name)
			}
		}
	}
}

// TestHeatBathFollowsItsDraws: every spin of every chain is what the definition
// makes of the draw, a number u of 32 bits: up where u < 2³² P. The sliced way
// follows it exactly, the tabulated one but where u is within rounding.
func TestHeatBathFollowsItsDraws(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		heat := newHeatBath(g, 0.37)
		batch, _ := randomBatch(rand.New(rand.NewPCG(8, 8)), g.N(), Lanes)
		l := heat.newLanes()
		bitspin.Columns(l.spins, batch, len(l.spins), 1)
		heat.tabulate(l)
		stream := asm.Counter{Seed: 1}
		for position := range uint64(300) {
			i := int(position) * 7 % g.N()
			bitspin.Rows(batch, batch, l.spins, len(l.spins), 1)
			var u [Lanes]uint64
			if heat.tables == nil {
				words := make([]uint32, Lanes)
				asm.PhiloxBlocks(words, &stream, position*16)
				for k := range u {
					u[k] = uint64(words[k])
				}
			} else {
				for plane := range uint64(32) {
					words := make([]uint32, 4)
					asm.PhiloxBlocks(words, &stream, plane/8<<58+position*4+plane%8/2)
					digits := uint64(words[plane%2*2]) | uint64(words[plane%2*2+1])<<32
					for k := range u {
						u[k] = 2*u[k] + digits>>k&1
					}
				}
			}
			heat.update(l, []int32{int32(i)}, &stream, position)
			for k := range Lanes {
				f := g.LocalField(batch[k*g.Words():][:g.Words()], i)
				p := math.Ldexp(1/(1+math.Exp(-2*0.37*f)), 32)
				want := uint64(0)
				if float64(u[k]) < math.RoundToEven(p) {
					want = 1
				}
				if heat.tables == nil && math.Abs(float64(u[k])-p) < 1e-5*p+2 {
					continue
				}
				require.Equal(t, want, l.spins[i]>>k&1, "%s, spin %d of chain %d", name, i, k)
			}
		}
	}
}

// TestMetropolisFollowsItsDraws: steps are what the definition makes of the draws, of which
// bitspin's TestFlipsFollowTheirDraws rejects more.
func TestMetropolisFollowsItsDraws(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		const rows, steps, beta = 70, 30, 0.4
		m, err := NewMetropolis(g, beta, 0.1)
		require.NoError(t, err)
		batch, all := randomBatch(rand.New(rand.NewPCG(5, 8)), g.N(), rows)
		var st bitspin.Count
		stream := asm.Counter{Seed: 8}
		m.Run(nil, batch, batch, 0, rows, steps, &stream, 100, &st)
		for k, s := range all {
			sample := uint64(100 + k)
			for step := range uint64(steps) {
				draw := make([]uint32, 4)
				asm.PhiloxBlocks(draw, &stream, step<<42|sample)
				product := uint64(draw[0]) * uint64(g.N())
				for block := uint64(1); uint32(product) < uint32((1<<32)%g.N()); block++ {
					again := make([]uint32, 4)
					asm.PhiloxBlocks(again, &stream, step<<42|block<<36|sample)
					product = uint64(again[0]) * uint64(g.N())
				}
				before := energyOf(&h, s)
				flip := func() {
					i := int(product >> 32)
					s[i] = -s[i]
				}
				if float64(draw[1]) < math.RoundToEven(0.1*(1<<32)) {
					flip = func() {
						for i := range s {
							s[i] = -s[i]
						}
					}
				}
				flip()
				u := (float64(draw[2])*(1<<32) + float64(draw[3])) / (1 << 64)
				if difference := energyOf(&h, s) - before; difference > 1e-9 && u >= math.Exp(-beta*difference) {
					flip()
				}
			}
			for i, x := range s {
				require.Equal(t, x > 0, batch[k*g.Words()+i/64]>>(i%64)&1 == 1, "%s, sample %d, spin %d", name, k, i)
			}
		}
	}
}

// TestDrawsAreIndependent: at β = 0 all spins of all chains after all sweeps are
// fair coins. Any two words that draws may have in common, at any distance of their
// bits, agree in half of these; 6.5 standard deviations of 64·rows bits are
// exceeded by one in 10¹⁰ comparisons.
func TestDrawsAreIndependent(t *testing.T) {
	for name, h := range map[string]Hamiltonian{"sliced": ring(300, 1), "tabulated": sparse(300, 300, 1, normal)} {
		g := build(t, h)
		r := hold(t, g, 0, 2*Lanes, 3)
		require.Equal(t, name == "tabulated", r.heat.tables == nil)
		var states [][]uint64 // by sweep, lanes and spin
		c := asm.Counter{Seed: 3}
		for ; c.Step < 3; c.Step++ {
			states = append(states, append(slices.Clone(r.lanes[0].spins), r.lanes[1].spins...))
			r.Advance(make([]float64, 2*Lanes), 0, 2*Lanes, &c, 0)
		}
		all := append(append(append([]uint64(nil), states[0]...), states[1]...), states[2]...)
		// Blocks of samples of a Sweeper, in the order of the last draws.
		s, err := NewSweeper(g, 0)
		require.NoError(t, err)
		batch := make([]uint64, 3*Lanes*g.Words())
		var st bitspin.Count
		stream := asm.Counter{Seed: 4}
		s.Run(nil, batch, batch, 0, 3*Lanes, 1, &stream, 0, &st)
		last := map[int32]int{}
		position := 0
		s.order(1, func(colour int) {
			for _, i := range s.colours[colour] {
				last[i] = position
				position++
			}
		})
		for block := range 3 {
			l := s.heat.newLanes()
			bitspin.Columns(l.spins, batch[block*Lanes*g.Words():][:Lanes*g.Words()], len(l.spins), 1)
			ordered := make([]uint64, position)
			for i, at := range last {
				ordered[at] = l.spins[i]
			}
			all = append(all, slices.DeleteFunc(ordered, func(x uint64) bool { return x == 0 })...)
		}
		for _, distance := range []int{1, 2, 3, 4, 8, 16, 32, 299, 300, 301, 598, 600, 601, 900} {
			for shift := range 64 {
				agree, rows := 0, len(all)-distance
				for i := range rows {
					agree += bits.OnesCount64(^(all[i+distance] ^ bits.RotateLeft64(all[i], shift)))
				}
				n := float64(64 * rows)
				require.InDelta(t, n/2, agree, 6.5*math.Sqrt(n)/2, "%s: distance %d, shift %d", name, distance, shift)
			}
		}
	}
}

func BenchmarkHeatBath(b *testing.B) {
	for _, c := range []struct {
		name string
		h    Hamiltonian
	}{{"glass", cubicGlass(8, 1)}, {"gauss", sparse(512, 1536, 1, normal)}, {"all", sherringtonKirkpatrick(256, 1)}} {
		b.Run(c.name, func(b *testing.B) {
			g, err := NewGraph(c.h)
			if err != nil {
				b.Fatal(err)
			}
			heat := newHeatBath(g, 0.7)
			l := heat.newLanes()
			heat.tabulate(l)
			var order []int32
			for i := range g.N() {
				order = append(order, int32(i))
			}
			stream := asm.Counter{Seed: 1}
			for b.Loop() {
				stream.Step++
				heat.update(l, order, &stream, 0)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(g.N()*Lanes), "ns/spin")
		})
	}
}

// TestReadStates packs signs of all lengths, and names the first that is none.
func TestReadStates(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 1; n <= 150; n++ {
		const rows = 3
		states, want := make([]byte, rows*n), make([]uint64, rows*((n+63)/64))
		for i := range states {
			states[i] = byte(2*r.IntN(2)) - 1
			if states[i] == 1 {
				want[i/n*((n+63)/64)+i%n/64] |= 1 << (i % n % 64)
			}
		}
		got, err := ReadStates("spins", states, n)
		require.NoError(t, err)
		require.Equal(t, want, got, n)
		for _, bad := range []byte{0, 2, 3, 0x7f, 0x80, 0x81, 0xfe, 0xfd} {
			at := r.IntN(len(states))
			keep := states[at]
			states[at] = bad
			_, err := ReadStates("spins", states, n)
			require.EqualError(t, err, fmt.Sprintf("states: spin %d of configuration %d is %d and neither −1 nor 1", at%n, at/n, int8(bad)))
			states[at] = keep
		}
	}
}
