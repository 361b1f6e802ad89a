package spins

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/ctxtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

func transfer(t testing.TB, h Hamiltonian, beta float64) *TransferAverages {
	t.Helper()
	m, err := NewTransfer(build(t, h))
	require.NoError(t, err)
	s, err := m.Sum(t.Context(), beta, 2)
	require.NoError(t, err)
	return s
}

// TestTransferIsEnumeration on random graphs: with and without fields, couplings of
// either sign and zero, spins and parts that nothing joins, and the orders that they
// ask for.
func TestTransferIsEnumeration(t *testing.T) {
	long.SkipShort(t)
	r := rand.New(rand.NewPCG(1, 0))
	all := enumerable()
	all["no edge is coupled"] = sparse(6, 8, 4, func(*rand.Rand) float64 { return 0 })
	all["two rings"] = Hamiltonian{Spins: 9, Edges: append(ring(4, 1).Edges, Edge{5, 6, -1}, Edge{6, 8, 0.3}, Edge{8, 5, 2})}
	all["complete"] = sherringtonKirkpatrick(13, 5)
	for k := range 40 {
		n := 2 + r.IntN(16)
		h := sparse(n, r.IntN(min(3*n, n*(n-1)/2)+1), uint64(k), func(r *rand.Rand) float64 {
			if r.IntN(5) == 0 {
				return 0
			}
			return r.NormFloat64()
		})
		for range n * (k % 2) {
			h.Fields = append(h.Fields, r.NormFloat64())
		}
		h.Offset = r.NormFloat64()
		all[string(rune('α'+k))] = h
	}
	for name, h := range all {
		for _, beta := range []float64{0, 0.3, 1.7} {
			if name == "many levels" {
				beta *= 1e-5
			}
			want, err := Enumerate(t.Context(), build(t, h), beta, 2)
			require.NoError(t, err)
			got := transfer(t, h, beta)
			scale := 1 + build(t, h).EnergyBound()
			require.InDelta(t, want.LogZ, got.LogZ, 1e-12*(1+beta*scale+float64(h.Spins)), name)
			require.InDelta(t, want.Energy, got.Energy, 1e-12*scale, name)
			require.InDelta(t, want.SpecificHeat, got.SpecificHeat, 1e-11*(1+beta*beta*scale*scale), name)
			require.InDelta(t, want.AbsMagnetisation, got.AbsMagnetisation, 1e-12, name)
			require.InDelta(t, want.Susceptibility, got.Susceptibility, 1e-11*(1+beta*float64(h.Spins)), name)
			require.InDelta(t, want.OverlapSquare, got.OverlapSquare, 1e-12, name)
			require.InDeltaSlice(t, want.Magnetisations, got.Magnetisations, 1e-11, name)
			require.Len(t, got.EdgeCorrelations, len(want.EdgeCorrelations), name)
			for k, c := range want.EdgeCorrelations {
				require.InDelta(t, c, got.EdgeCorrelations[k], 1e-11, name)
			}
		}
	}
}

// TestTransferOfLongGraphs holds a chain and a ring, whose frontiers are one and two
// spins, against their closed forms.
func TestTransferOfLongGraphs(t *testing.T) {
	const n, beta = 700, 0.9
	r := rand.New(rand.NewPCG(2, 0))
	chain := Hamiltonian{Spins: n, Offset: 3}
	names := r.Perm(n)
	wantZ, wantE, wantC := n*math.Ln2-3*beta, 3.0, 0.0
	overlap, correlation := float64(n), make([]float64, n) // of the spins before with the last
	for k := range n - 1 {
		j := r.NormFloat64()
		chain.Edges = append(chain.Edges, Edge{names[k], names[k+1], j})
		x := math.Tanh(beta * j)
		wantZ += math.Log(math.Cosh(beta * j))
		wantE -= j * x
		wantC += beta * beta * j * j * (1 - x*x)
		correlation[k] = 1
		for i := range k + 1 {
			correlation[i] *= x
			overlap += 2 * correlation[i] * correlation[i]
		}
	}
	got := transfer(t, chain, beta)
	require.LessOrEqual(t, got.widest, 3)
	require.InDelta(t, wantZ, got.LogZ, 1e-10)
	require.InDelta(t, wantE, got.Energy, 1e-10)
	require.InDelta(t, wantC, got.SpecificHeat, 1e-10)
	require.InDelta(t, overlap/(n*n), got.OverlapSquare, 1e-12)
	for k, e := range build(t, chain).Edges() {
		require.InDelta(t, math.Tanh(beta*e.Coupling), got.EdgeCorrelations[k], 1e-12)
	}

	const m, j, field = 60, 0.8, 0.15
	h := ring(m, j)
	for range m {
		h.Fields = append(h.Fields, field)
	}
	a := math.Exp(beta*j) * math.Cosh(beta*field)
	b := math.Sqrt(math.Exp(2*beta*j)*math.Pow(math.Sinh(beta*field), 2) + math.Exp(-2*beta*j))
	require.InDelta(t, math.Log(math.Pow(a+b, m)+math.Pow(a-b, m)), transfer(t, h, beta).LogZ, 1e-11)
}

// TestTransferByThreads: as many threads as there may be give the same bits.
func TestTransferByThreads(t *testing.T) {
	m, err := NewTransfer(build(t, cubicGlass(3, 2)))
	require.NoError(t, err)
	one, err := m.Sum(t.Context(), 0.8, 1)
	require.NoError(t, err)
	three, err := m.Sum(t.Context(), 0.8, 3)
	require.NoError(t, err)
	require.Equal(t, one.LogZ, three.LogZ)
	require.Equal(t, one.Observables, three.Observables)
}

// TestDrawsOfATransferMatrix: frequencies of configurations are π, with and without
// fields; the level is 10⁻⁷.
func TestDrawsOfATransferMatrix(t *testing.T) {
	const samples = 1 << 17
	for _, fields := range []bool{false, true} {
		h := sparse(8, 14, 9, normal)
		if fields {
			h.Fields = []float64{0.3, 0, -0.2, 0, 1, 0, 0, 0.1}
		}
		_, p, _ := naive(&h, 0.8)
		batch := make([]uint64, samples)
		s := transfer(t, h, 0.8)
		s.Draw(batch, rng.Stream(3, rng.Reference, 1), 0)
		counts := make([]float64, len(p))
		for _, x := range batch {
			counts[x]++
		}
		law := stat.NewCounts(p, samples)
		tv, _ := law.Distances(counts)
		t.Logf("total variation %.4f", tv.Value)
		require.Less(t, tv.Value, law.Variation.Quantile(1-1e-7, 0))
		// One spin after another, given those before and the one that is held up, by its word.
		stream := rng.Stream(3, rng.Reference, 1)
		for k, got := range batch[:200] {
			words := make([]uint32, (len(s.steps)+4)/4*4)
			asm.PhiloxBlocks(words, &stream, uint64(k*len(words)/4))
			var known, want uint64
			if s.pinned >= 0 {
				known, want = 1<<s.pinned, 1<<s.pinned
			}
			for i, step := range s.steps {
				var down, up float64
				for x, w := range p {
					switch {
					case uint64(x)&known != want:
					case x>>step.spin&1 == 1:
						up += w
					default:
						down += w
					}
				}
				known |= 1 << step.spin
				if (float64(words[i])+0.5)*0x1p-32 < up/(down+up) {
					want |= 1 << step.spin
				}
			}
			if s.pinned >= 0 && words[len(s.steps)]&1 == 1 {
				want ^= 1<<8 - 1
			}
			require.Equal(t, want, got, "sample %d", k)
		}
		part := make([]uint64, 10)
		s.Draw(part, rng.Stream(3, rng.Reference, 1), 77)
		require.Equal(t, batch[77:87], part)
	}
	wide := transfer(t, ring(130, 0.5), 1)
	batch := make([]uint64, 3*64)
	wide.Draw(batch, rng.Stream(3, rng.Reference, 1), 0)
	for k := 2; k < len(batch); k += 3 {
		require.Less(t, batch[k], uint64(4))
	}
}

func TestTransferRefusals(t *testing.T) {
	_, err := NewTransfer(build(t, sherringtonKirkpatrick(40, 1)))
	require.ErrorContains(t, err, "more than 22 spins have neighbours on both sides")
	_, err = NewTransfer(build(t, cubicGlass(6, 1)))
	require.ErrorContains(t, err, "more than 22 spins")
	m, err := NewTransfer(build(t, cubicGlass(3, 1)))
	require.NoError(t, err)
	require.Equal(t, "a transfer matrix over at most 12 spins, 2.5e+06 operations", m.String())
	for beta, want := range map[float64]string{-1: "β = -1 is not", 1e8: "β·E reaches", 80: "β = 80: weights are further apart than the transfer matrix holds"} {
		_, err = m.Sum(t.Context(), beta, 1)
		require.ErrorContains(t, err, want)
	}
	before := memory.Limit
	defer func() { memory.Limit = before }()
	memory.Limit = func() float64 { return 1 << 20 }
	_, err = NewTransfer(build(t, cubicGlass(3, 1)))
	require.ErrorContains(t, err, "GiB")
}

// TestTransferStops: a stop is heard within a second in the middle of tables of
// millions.
func TestTransferStops(t *testing.T) {
	if testing.Short() {
		t.Skip("takes large tables")
	}
	m, err := NewTransfer(build(t, torus(10)))
	require.NoError(t, err)
	t.Log(m, m.entries, m.work())
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan time.Time, 1)
	time.AfterFunc(time.Second, func() { stopped <- time.Now(); cancel() })
	_, err = m.Sum(ctx, 0.8, 2)
	require.ErrorIs(t, err, context.Canceled)
	t.Logf("stopped after %v", time.Since(<-stopped))
}

// TestStopsAnywhere: wherever a sum ends early, it says so and asks three times more at
// most: the table, the loop over tables, and whoever began it.
func TestStopsAnywhere(t *testing.T) {
	g := build(t, ring(7, 0.5))
	m, err := NewTransfer(g)
	require.NoError(t, err)
	workers := pool.New(1)
	defer workers.Close()
	for name, c := range map[string]struct {
		asks int
		run  func(ctx context.Context) error
	}{
		// Six steps: three passes over them; for the correlations of each spin a loop over
		// those after it; and for each of three frequencies six again.
		"sum": {3*6 + 6 + 1 + 5 + 4 + 3 + 2 + 1 + 3 + 3*6 + 1, func(ctx context.Context) error {
			_, err := m.Sum(ctx, 0.7, 1)
			return err
		}},
		// The one piece is transformed, weighed and transformed.
		"enumeration": {2 + 1 + 2, func(ctx context.Context) error {
			_, err := Enumerate(ctx, g, 0.7, 1)
			return err
		}},
		"tempering": {64 + 10, func(ctx context.Context) error {
			l, err := tempering(g, 1, 0, workers).Temper(ctx, 0, Lanes, 64)
			if err == nil {
				_, err = l.Measure(ctx, 10, 0, func(int) {})
			}
			return err
		}},
	} {
		for left := range c.asks + 1 {
			ctx := ctxtest.CancelAfter(t.Context(), left)
			err := c.run(ctx)
			asked, ended := ctx.Asked()
			if left == c.asks {
				require.NoError(t, err, name)
				require.Equal(t, c.asks, asked, name)
				continue
			}
			require.ErrorIs(t, err, context.Canceled, "%s, asked %d times", name, left)
			require.LessOrEqual(t, ended, 3, "%s, asked %d times", name, left)
		}
	}
}

// TestSizesOfTransferMatrices: of n spins that are all joined one is held up; the others wait
// for the last of them in tables of 1, 2, 4 … numbers, and a pass has room for the largest,
// nine times or three and four a lane.
func TestSizesOfTransferMatrices(t *testing.T) {
	for n := 2; n < 12; n++ {
		for _, fields := range []bool{false, true} {
			h := sherringtonKirkpatrick(n, 1)
			h.Fields = nil
			steps := n - 1
			if fields {
				h.Fields = slices.Repeat([]float64{1}, n)
				steps = n
			}
			m, err := NewTransfer(build(t, h))
			require.NoError(t, err)
			require.Equal(t, fields, m.pinned < 0)
			require.Len(t, m.steps, steps)
			require.Equal(t, steps, m.widest)
			all := math.Pow(2, float64(steps)) - 1
			require.Equal(t, all, m.entries)
			require.Equal(t, all*(10+2.5*float64(steps)), m.work())
			for lanes, tables := range map[int]float64{1: 9, 2: 11, 3: 15, 8: 35} {
				require.Equal(t, 8*(all+tables*(all+1)), m.memory(lanes))
			}
			require.Contains(t, m.String(), fmt.Sprintf("over at most %d spins", steps-1))
		}
	}
}

func BenchmarkTransfer(b *testing.B) {
	for name, h := range map[string]Hamiltonian{"8x8": torus(8), "10x10": torus(10)} {
		b.Run(name, func(b *testing.B) {
			g := build(b, h)
			m, err := NewTransfer(g)
			require.NoError(b, err)
			for b.Loop() {
				if _, err := m.Sum(b.Context(), 0.8, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/m.work()*1e9, "ns/number")
		})
	}
}

// torus is a ±J glass on the periodic L×L lattice.
func torus(l int) Hamiltonian {
	r := rand.New(rand.NewPCG(4, 0))
	h := Hamiltonian{Spins: l * l}
	for y := range l {
		for x := range l {
			h.Edges = append(h.Edges, Edge{y*l + x, y*l + (x+1)%l, someSign(r)}, Edge{y*l + x, (y+1)%l*l + x, someSign(r)})
		}
	}
	return h
}

// TestGreedyOrders: each next spin lets the frontier grow least, by a search in which frontiers
// are counted anew for every candidate.
func TestGreedyOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for range 40 {
		h := Hamiltonian{Spins: 3 + r.IntN(14)}
		for i := range h.Spins {
			for j := range i {
				if r.IntN(4) == 0 {
					h.Edges = append(h.Edges, Edge{j, i, float64(r.IntN(3) - 1)}) // some of no coupling
				}
			}
		}
		s := newFrontierSearch(bonded(build(t, h)))
		coupled := make([]map[int32]bool, h.Spins)
		for i := range coupled {
			coupled[i] = map[int32]bool{}
		}
		for _, e := range h.Edges {
			if e.Coupling != 0 {
				coupled[e.I][int32(e.J)], coupled[e.J][int32(e.I)] = true, true
			}
		}
		frontierOf := func(order []int32) (frontier []int32) {
			for _, i := range order {
				for j := range coupled[i] {
					if !slices.Contains(order, j) {
						frontier = append(frontier, i)
						break
					}
				}
			}
			return frontier
		}
		for start := range int32(h.Spins) {
			for _, last := range []bool{false, true} {
				want, states := []int32{start}, 0.0
				for {
					frontier := frontierOf(want)
					states += math.Ldexp(1, len(frontier))
					if len(want) == h.Spins {
						break
					}
					if last {
						slices.Reverse(frontier)
					}
					next, least := int32(-1), h.Spins
					for _, i := range frontier {
						for j := range int32(h.Spins) {
							if size := len(frontierOf(append(want, j))); coupled[i][j] && !slices.Contains(want, j) && size < least {
								next, least = j, size
							}
						}
					}
					for i := int32(0); next < 0; i++ {
						if !slices.Contains(want, i) {
							next = i
						}
					}
					want = append(want, next)
				}
				order, cost := s.greedy(start, last, math.Inf(1))
				require.Equal(t, want, order)
				require.Equal(t, states, cost)
				require.Equal(t, states, s.follow(want, math.Inf(1)))
				order, cost = s.greedy(start, last, states)
				require.Equal(t, want, order)
				require.Equal(t, states, cost)
				order, cost = s.greedy(start, last, states-1)
				require.Nil(t, order)
				require.GreaterOrEqual(t, cost, states)
				require.GreaterOrEqual(t, s.follow(want, states-1), states)
			}
		}
	}
}

// TestSweep: an order has each vertex once, and never more that have come and have neighbours to
// come than were allowed; of a complete graph all but the last have.
func TestSweep(t *testing.T) {
	complete := func(n int) (near [][]int32) {
		near = make([][]int32, n)
		for i := range near {
			for j := range near {
				if j != i {
					near[i] = append(near[i], int32(j))
				}
			}
		}
		return near
	}
	require.NotNil(t, Sweep(complete(9), 10))
	require.Nil(t, Sweep(complete(9), 7))
	ring := make([][]int32, 50)
	for i := range ring {
		ring[i] = []int32{int32((i + 1) % 50), int32((i + 49) % 50)}
	}
	order := Sweep(ring, 10)
	require.Len(t, order, 50)
	come := map[int32]bool{}
	for _, i := range order {
		require.False(t, come[i])
		come[i] = true
		frontier := 0
		for j := range come {
			if !come[ring[j][0]] || !come[ring[j][1]] {
				frontier++
			}
		}
		require.LessOrEqual(t, frontier, 2)
	}
}
