package categories

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
)

// TestValidate changes one thing of a target that can be used.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Target)
		want   string // "" where the target stays usable
	}{
		{func(*Target) {}, ""},
		{func(t *Target) { *t = Target{} }, "states: there are 0 sites, not 1 to 32768"},
		{func(t *Target) { *t = Target{States: Uniform(MaxSites, 2)} }, ""},
		{func(t *Target) { *t = Target{States: Uniform(MaxSites+1, 2)} }, "states: there are 32769 sites, not 1 to 32768"},
		{func(t *Target) { *t = Target{States: []int{2, 16}} }, ""},
		{func(t *Target) { *t = Target{States: []int{2, 17}} }, "states: site 1 has 17, not 2 to 16"},
		{func(t *Target) { *t = Target{States: []int{1, 2}} }, "states: site 0 has 1, not 2 to 16"},
		{func(t *Target) { t.Pairs[0].I = -1 }, "pairs[0]: there are no two sites -1 and 1; they are 0 to 1"},
		{func(t *Target) { t.Pairs[0].I = 2 }, "pairs[0]: there are no two sites 2 and 1; they are 0 to 1"},
		{func(t *Target) { t.Pairs[0].J = -1 }, "pairs[0]: there are no two sites 0 and -1; they are 0 to 1"},
		{func(t *Target) { t.Pairs[0].J = 2 }, "pairs[0]: there are no two sites 0 and 2; they are 0 to 1"},
		{func(t *Target) { t.Pairs[0].J = 0 }, "pairs[0]: joins site 0 with itself"},
		{func(t *Target) { t.Pairs[0].Energy = make([]float64, 5) }, "pairs[0]: has 5 energies for 2 by 3 states"},
		{func(t *Target) { t.Pairs[0].Energy[4] = math.Inf(-1) }, "pairs[0]: the energy -Inf is not finite"},
		{func(t *Target) { t.Fields = t.Fields[1:] }, "fields: there are 1 for 2 sites"},
		{func(t *Target) { t.Fields = nil }, ""},
		{func(t *Target) { t.Fields[1] = []float64{0, 0} }, "fields[1]: has 2 energies for 3 states"},
		{func(t *Target) { t.Fields[1][2] = math.NaN() }, "fields[1]: the energy NaN is not finite"},
		{func(t *Target) { t.Offset = math.Inf(1) }, "offset: is not finite"},
		{func(t *Target) { t.Beta = 0 }, ""},
		{func(t *Target) { t.Beta = -1e-9 }, "beta: -1e-09 is not a number from 0"},
		{func(t *Target) { t.Beta = math.NaN() }, "beta: NaN is not a number from 0"},
		{func(t *Target) { t.Beta = math.Inf(1) }, "beta: +Inf is not a number from 0"},
		// Site 1 can lose 2 by the pair and 3 by the field.
		{func(t *Target) { t.Beta = 120 }, ""},
		{func(t *Target) { t.Beta = 120.15 }, "beta: β times the energies that site 1 can lose is 601, more than 600, and only one of its states has weight; take a lower β"},
		{func(t *Target) { t.Fields, t.Beta = nil, 301 }, "beta: β times the energies that site 0 can lose is 602, more than 600, and only one of its states has weight; take a lower β"},
	} {
		target := Target{States: []int{2, 3}, Pairs: []Pair{{0, 1, []float64{7, 8, 8, 9, 8, 8}}}, Fields: [][]float64{nil, {-1, 2, 0}}, Beta: 1}
		c.change(&target)
		if c.want == "" {
			require.NoError(t, target.Validate())
			continue
		}
		require.EqualError(t, target.Validate(), c.want)
		_, err := NewModel(target, Network{Neighbours: 1, Hidden: 1}, nil)
		require.EqualError(t, err, c.want)
	}
}

// TestCode: a code is the coarsest that every pair is a function of.
func TestCode(t *testing.T) {
	flat, slope := []float64{2, 2, 2}, []float64{2, 2, 3}
	any := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	same, circle := Potts(3, 1.5), Clock(5, 1)
	for _, c := range []struct {
		states []int
		tables [][]float64
		fields [][]float64
		code   Code
		even   bool
	}{
		{Uniform(3, 3), [][]float64{same, same}, nil, Same, true},
		{Uniform(3, 3), [][]float64{same, Potts(3, -1)}, [][]float64{flat, nil, flat}, Same, true},
		{Uniform(3, 3), [][]float64{same, same}, [][]float64{nil, nil, slope}, Same, false},
		{Uniform(3, 3), [][]float64{Clock(3, 1), same}, nil, Same, true}, // all distances but 0 are 1
		{Uniform(3, 4), [][]float64{Clock(4, 1), Potts(4, 1)}, nil, Distance, true},
		{Uniform(3, 5), [][]float64{Potts(5, 1), circle}, nil, Distance, true},
		{Uniform(3, 5), [][]float64{circle, circle}, [][]float64{nil, nil, {0, 0, 0, 1, 0}}, Distance, false},
		{Uniform(3, 3), [][]float64{same, any}, nil, States, false},
		{Uniform(3, 2), [][]float64{{1, 0, 0, 1}, {0, 1, 1, 0}}, nil, Same, true},
		{Uniform(3, 2), [][]float64{{1, 0, 0, 2}, {0, 1, 1, 0}}, nil, States, false},
		{Uniform(3, 2), [][]float64{{1, 0, 3, 1}, {0, 1, 1, 0}}, nil, States, false},
		{[]int{2, 3, 2}, [][]float64{{1, 0, 0, 0, 1, 0}, {1, 0, 0, 1, 0, 0}}, nil, Same, false},
		{[]int{2, 3, 2}, [][]float64{{1, 0, 0, 0, 1, 0}, {1, 0, 0, 1, 0, 2}}, nil, States, false},
	} {
		target := Target{States: c.states, Pairs: []Pair{{0, 1, c.tables[0]}, {1, 2, c.tables[1]}}, Fields: c.fields}
		code, even := target.Code()
		require.Equal(t, c.code, code, "%v", c)
		require.Equal(t, c.even, even, "%v", c)
	}
	require.Equal(t, 4, (&Target{States: []int{2, 4, 3}}).MaxQ())
}

// TestBits: the bits of a site are what they are by definition.
func TestBits(t *testing.T) {
	for _, c := range []coding{newCoding(Same, 5), newCoding(Distance, 4), newCoding(Distance, 5), newCoding(Distance, 16), newCoding(States, 4)} {
		const size, site = 3, 1
		bits := make([]uint64, c.planes()*size)
		var x [block]byte
		for b := range x {
			x[b] = byte(b * 7 % c.q)
		}
		c.write(bits, size, site, &x)
		for p := range c.planes() {
			for b, s := range x {
				require.Equal(t, c.bit(p, int(s), c.q), bits[p*size+site]>>b&1 == 1, "%v: plane %d of state %d", c, p, s)
			}
			require.Zero(t, bits[p*size])
			require.Zero(t, bits[p*size+2])
		}
	}
	require.Equal(t, []int{5, 2 * 4, 2 * 5, 3}, []int{(&coding{Same, 5, 1, 5}).planes(), (&coding{Distance, 4, 2, 4}).planes(), (&coding{Distance, 5, 2, 5}).planes(), (&coding{States, 4, 3, 1}).planes()})
}

// TestNeighbours compares energies along edges with those of pairs, and says which share.
func TestNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	states := []int{2, 3, 4, 3}
	random := func(i, j int) []float64 {
		x := make([]float64, states[i]*states[j])
		for k := range x {
			x[k] = r.NormFloat64()
		}
		return x
	}
	target := Target{States: states}
	edges := [][2]int{{0, 1}, {1, 0}, {0, 1}, {2, 1}, {1, 3}, {3, 2}}
	for _, e := range edges {
		target.Pairs = append(target.Pairs, Pair{e[0], e[1], random(e[0], e[1])})
	}
	near := target.neighbours()
	order := [][]int{{1}, {0, 2, 3}, {1, 3}, {1, 2}}
	for i, list := range near {
		var met []int
		for _, n := range list {
			met = append(met, n.site)
			for x := range states[n.site] {
				for y := range states[i] {
					var want float64
					for _, p := range target.Pairs {
						switch {
						case p.I == i && p.J == n.site:
							want += p.Energy[y*states[n.site]+x]
						case p.J == i && p.I == n.site:
							want += p.Energy[x*states[i]+y]
						}
					}
					require.InDelta(t, want, n.energy[x*states[i]+y], 1e-12)
				}
			}
		}
		require.Equal(t, order[i], met)
	}
	// Symmetric tables are used as they are, others are turned once, and sums are made once.
	potts, other := Potts(3, 1), []float64{0, 1, 2, 3, 4, 5, 6, 7, 9}
	shared := Target{States: Uniform(6, 3), Pairs: []Pair{{0, 1, potts}, {2, 3, other}, {4, 5, other}, {0, 2, potts}, {0, 2, potts}, {1, 3, potts}, {3, 1, potts}}}
	near = shared.neighbours()
	at := func(i, k int) *float64 { return &near[i][k].energy[0] }
	require.Same(t, &potts[0], at(0, 0))
	require.Same(t, &potts[0], at(1, 0))
	require.Same(t, &other[0], at(3, 0))
	require.Same(t, at(2, 0), at(4, 0))
	require.NotSame(t, at(2, 0), at(3, 0))
	require.Same(t, at(0, 1), at(2, 1))
	require.Same(t, at(0, 1), at(1, 1))
	require.Equal(t, 2*potts[0], *at(0, 1))
}

// TestStrength compares with the definition, and with the correlation along a bond.
func TestStrength(t *testing.T) {
	for _, q := range []int{2, 3, 7} {
		for _, k := range []float64{0.1, 2} {
			require.InDelta(t, math.Expm1(k)/(math.Exp(k)+float64(q)-1), strength(Potts(q, k/0.4), q, q, 0.4), 1e-12)
		}
	}
	require.InDelta(t, math.Tanh(0.3), strength([]float64{1, -1, -1, 1}, 2, 2, 0.3), 1e-12)
	require.Equal(t, 1-1e-9, strength(Potts(3, 1), 3, 3, 500))
	e := []float64{0, 1, 3, 2, 0.5, -1}
	var most float64
	for s := range 2 {
		row := e[s*3:][:3]
		for u, x := range row {
			delta := x - (row[(u+1)%3]+row[(u+2)%3])/2
			most = max(most, math.Abs(math.Exp(-0.3*delta)-1)/(math.Exp(-0.3*delta)+2))
		}
	}
	require.InDelta(t, most, strength(e, 2, 3, 0.3), 1e-12)
	target := Target{States: Uniform(3, 3), Pairs: []Pair{{0, 1, Potts(3, 1)}, {2, 1, Potts(3, 2)}}, Beta: 0.5}
	s := target.skeleton()
	require.Equal(t, 3, s.Spins)
	require.Equal(t, 1.0, s.Beta)
	require.Len(t, s.Bonds, 2)
	for k, j := range []float64{1, 2} {
		require.Equal(t, target.Pairs[k].I, s.Bonds[k].I)
		require.Equal(t, target.Pairs[k].J, s.Bonds[k].J)
		require.InDelta(t, strength(Potts(3, j), 3, 3, 0.5), math.Tanh(s.Bonds[k].Coupling), 1e-12)
	}
}

// TestConfigurations counts, numbers and lists them.
func TestConfigurations(t *testing.T) {
	target := Target{States: []int{2, 3, 4}, Offset: 2, Fields: [][]float64{nil, {1, 2, 3}, nil}}
	require.Equal(t, 24, target.Configurations())
	count := 0
	target.Each(func(k int, s []byte) {
		require.Equal(t, count, k)
		require.Equal(t, []byte{byte(k % 2), byte(k / 2 % 3), byte(k / 6)}, s)
		require.Equal(t, k, target.Number(s))
		e := make([]float64, 2)
		target.Energies(e, append(slices.Clone(s), 0, 0, 0))
		require.Equal(t, []float64{3 + float64(s[1]), 3}, e)
		count++
	})
	require.Equal(t, 24, count)
	require.Equal(t, MaxConfigurations, (&Target{States: Uniform(20, 2)}).Configurations())
	require.Equal(t, MaxConfigurations+1, (&Target{States: append(Uniform(19, 2), 3)}).Configurations())
	require.Equal(t, MaxConfigurations+1, (&Target{States: Uniform(MaxSites, 16)}).Configurations())
}

// TestSummable: the limits of sums site by site, and what is said beyond them.
func TestSummable(t *testing.T) {
	complete := func(states ...int) *Target {
		target := &Target{States: states, Beta: 1}
		for i := range states {
			for j := range i {
				target.Pairs = append(target.Pairs, Pair{j, i, make([]float64, states[i]*states[j])})
			}
		}
		return target
	}
	ctx := context.Background()
	just := complete(16, 16, 16, 16, 16, 2)
	require.True(t, Summable(just))
	order, err := just.order()
	require.NoError(t, err)
	largest, all := 0, 0
	for _, row := range order {
		table := 1
		for _, j := range row[1:] {
			table *= just.States[j]
		}
		largest, all = max(largest, table*just.States[row[0]]), all+table
	}
	require.Equal(t, maxTable, largest)
	require.Equal(t, 2<<16+2<<12+2<<8+2<<4+2+1, all)
	large := complete(16, 16, 16, 16, 16, 3)
	require.False(t, Summable(large))
	_, err = NewSum(ctx, large)
	require.EqualError(t, err, "summing site by site takes tables of more than 2097152 numbers")
	require.False(t, Summable(complete(Uniform(260, 16)...)), "tables of more numbers than there are in float64")
	many := &Target{States: Uniform(1<<10, 2), Offset: 1, Beta: 0.5}
	require.True(t, Summable(many))
	s, err := NewSum(ctx, many)
	require.NoError(t, err)
	require.InDelta(t, 1024*math.Ln2-0.5, s.LogZ, 1e-9)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = NewSum(ended, many)
	require.Equal(t, context.Canceled, err)
	many.States = append(many.States, 2)
	require.False(t, Summable(many))
	_, err = NewSum(ctx, many)
	require.EqualError(t, err, "1025 sites are too many to sum one by one")
}

// TestBytes writes configurations and reads them again, and says what cannot be read.
func TestBytes(t *testing.T) {
	target := Bytes{Target: &Target{States: []int{2, 3, 3}}, Shape: []int{3}, Order: "; in order"}
	require.Equal(t, []int{3, 3}, []int{target.Words(), target.Sites()})
	require.Equal(t, uint64(1)<<40, target.MaxSamples())
	formats := target.Formats()
	require.Equal(t, []int{3, 9}, []int{formats[0].RowBytes, formats[1].RowBytes})
	require.Equal(t, []int{3}, formats[0].Shape)
	require.Equal(t, []int{3, 3}, formats[1].Shape)
	require.Equal(t, "states 0 … 2 as int8; in order", formats[0].Doc)
	batch := []byte{0, 2, 1, 1, 0, 2}
	for _, f := range formats {
		dst := slices.Repeat([]byte{9}, 2*f.RowBytes)
		target.Write(dst, f.Name, batch)
		for i, s := range batch {
			if f.Name == "one_hot" {
				want := make([]byte, 3)
				want[s] = 1
				require.Equal(t, want, dst[3*i:][:3])
			}
		}
		read, err := target.Read(f.Name, dst)
		require.NoError(t, err)
		require.Equal(t, batch, read)
	}
	for _, c := range []struct {
		format string
		states []byte
		want   string
	}{
		{"states", []byte{0, 0, 0, 1, 3, 0}, "states: site 1 of configuration 1 is in state 3; its states are 0 to 2"},
		{"states", []byte{255, 0, 0}, "states: site 0 of configuration 0 is in state -1; its states are 0 to 1"},
		{"one_hot", []byte{1, 0, 0, 0, 0, 1, 0, 0, 0}, "states: of site 2 of configuration 0 not exactly one of the 3 numbers is 1 and the others 0"},
		{"one_hot", []byte{1, 0, 0, 0, 0, 1, 0, 1, 1}, "states: of site 2 of configuration 0 not exactly one of the 3 numbers is 1 and the others 0"},
		{"one_hot", []byte{1, 0, 0, 2, 0, 1, 0, 1, 0}, "states: of site 1 of configuration 0 not exactly one of the 3 numbers is 1 and the others 0"},
		{"one_hot", []byte{0, 0, 1, 0, 0, 1, 0, 1, 0}, "states: site 0 of configuration 0 is in state 2; its states are 0 to 1"},
	} {
		_, err := target.Read(c.format, c.states)
		require.EqualError(t, err, c.want)
	}
}

// TestDisperse: half of the configurations are of one state, and the others are drawn by words
// of the stream, whatever the batch.
func TestDisperse(t *testing.T) {
	target := Bytes{Target: &Target{States: []int{2, 3, 16, 5, 4}}}
	stream := rng.Stream(3, rng.ChainStart, 0)
	const n = 200
	batch, later := make([]byte, n*5), make([]byte, (n-6)*5)
	target.Disperse(batch, &stream, 10)
	target.Disperse(later, &stream, 16)
	var seen [5][16]bool
	for i := range n {
		for k, q := range target.Target.States {
			x := batch[i*5+k]
			if i%2 == 0 {
				require.Equal(t, byte(i/2%q), x)
				continue
			}
			if i >= 6 {
				require.Equal(t, x, later[(i-6)*5+k])
			}
			require.Less(t, int(x), q)
			seen[k][x] = true
		}
	}
	for k, q := range target.Target.States {
		require.NotContains(t, seen[k][:q], false)
	}
}

// TestStir: states are renamed by permutations that leave energies as they are: all of them,
// or those of a circle; and not at all where states differ.
func TestStir(t *testing.T) {
	for _, c := range []struct {
		table []float64
		count int
	}{{Potts(4, 1), 24}, {Clock(5, 1), 10}} {
		q := int(math.Sqrt(float64(len(c.table))))
		target := Bytes{Target: &Target{States: Uniform(q+1, q), Pairs: []Pair{{0, 1, c.table}}}}
		const n = 1000
		var batch []byte
		for range n {
			for s := range q {
				batch = append(batch, byte(s))
			}
			batch = append(batch, 1)
		}
		later := slices.Clone(batch[(q+1)*20:])
		stream := rng.Stream(5, rng.ChainStart, 1)
		target.Stir(batch, stream, 3)
		target.Stir(later, stream, 23)
		require.Equal(t, later, batch[(q+1)*20:])
		counts := map[string]int{}
		for i := range n {
			row := batch[i*(q+1):][:q+1]
			require.Equal(t, row[1], row[q])
			for s := range q {
				for u := range q {
					require.Equal(t, c.table[s*q+u], c.table[int(row[s])*q+int(row[u])])
				}
			}
			counts[string(row[:q])]++
		}
		require.Len(t, counts, c.count)
		for _, k := range counts { // six standard deviations
			require.InDelta(t, float64(n)/float64(c.count), float64(k), 6*math.Sqrt(float64(n)/float64(c.count)))
		}
	}
	target := Bytes{Target: &Target{States: Uniform(2, 3), Pairs: []Pair{{0, 1, Potts(3, 1)}}, Fields: [][]float64{{0, 1, 0}, nil}}}
	batch := []byte{0, 1, 2, 0, 1, 2}
	target.Stir(batch, rng.Stream(5, rng.ChainStart, 1), 0)
	require.Equal(t, []byte{0, 1, 2, 0, 1, 2}, batch)
}

// TestBlockOrder: columns and rows are each other's inverse, and the last configuration fills up.
func TestBlockOrder(t *testing.T) {
	const n, count = 3, 10
	batch := make([]byte, n*count)
	for i := range batch {
		batch[i] = byte(i)
	}
	state := make([]byte, n*block)
	columns(state, batch, n)
	for i := range n {
		for b := range block {
			require.Equal(t, batch[min(b, count-1)*n+i], state[i*block+b])
		}
	}
	back := make([]byte, n*4)
	rows(back, state, n, 3)
	require.Equal(t, batch[3*n:7*n], back)
}

// A fixedDraws returns given configurations.
type fixedDraws struct{ all []uint64 }

func (d fixedDraws) Generate(dst []uint64, r []float64, first uint64) { copy(dst, d.all[first*2:]) }

// TestOneHot packs configurations beyond a word and takes them out again.
func TestOneHot(t *testing.T) {
	target := OneHot{&Target{States: []int{16, 3, 16, 16, 2, 15}}}
	require.Equal(t, 68, target.Spins())
	require.Equal(t, []int{16, 3, 16, 16, 2, 15}, target.States())
	r := rand.New(rand.NewPCG(4, 4))
	const n = 5
	var all []byte
	var packed []uint64
	for range n {
		s, x := make([]byte, 6*2), []uint64{^uint64(0), ^uint64(0)}
		for i, q := range target.States() {
			s[2*i] = byte(r.IntN(q))
			all = append(all, s[2*i])
		}
		target.Pack(x, s, 2)
		at := 0
		for i, q := range target.States() {
			for k := range q {
				require.Equal(t, int(s[2*i]) == k, x[(at+k)/64]>>((at+k)%64)&1 == 1)
			}
			at += q
		}
		require.Zero(t, x[1]>>4)
		packed = append(packed, x...)
	}
	draws := target.Draws(fixedDraws{packed})
	got := make([]byte, 3*6)
	draws.Generate(got, nil, 2)
	require.Equal(t, all[2*6:], got)
	draws.Generate(got[:6], nil, 1)
	require.Equal(t, all[6:12], got[:6])
}

// TestMovesOfOneHot: packed configurations of two words each move as their states do, in a range of
// a batch, and not at all once that is halted.
func TestMovesOfOneHot(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	target := OneHot{&Target{States: []int{16, 3, 16, 16, 2, 15}, Beta: 0.7}}
	for i, q := range target.States() {
		j := (i + 1) % 6
		energy := make([]float64, q*target.States()[j])
		for k := range energy {
			energy[k] = r.NormFloat64()
		}
		target.Pairs = append(target.Pairs, Pair{i, j, energy})
	}
	const count, lo, hi, steps, first = 200, 64, 150, 3, 128
	states, packed := make([]byte, count*6), make([]uint64, count*2)
	for i := range count {
		for k, q := range target.States() {
			states[i*6+k] = byte(r.IntN(q))
		}
		target.Pack(packed[2*i:], states[i*6:], 1)
	}
	for _, proposal := range []string{"single", spins.Sweeping} {
		c := &spins.TransitionConfig{Proposal: proposal}
		m, err := NewMoves(target.Target, c, 0.5)
		require.NoError(t, err)
		kernel, err := target.Kernel(c, 0.5)
		require.NoError(t, err)
		stream := rng.Stream(3, rng.SampleTransition, 2)
		want, dst := slices.Clone(states), slices.Clone(packed)
		var st, wantStats bitspin.Count
		m.Run(nil, want, states, lo, hi, steps, &stream, first, &wantStats)
		kernel.Run(nil, dst, packed, lo, hi, steps, &stream, first, &st)
		require.Equal(t, wantStats, st)
		require.NotEqual(t, states, want)
		got := make([]byte, count*6)
		for i := range count {
			target.Unpack(got[i*6:], 1, dst[2*i:])
		}
		require.Equal(t, want, got)
		kernel.Run(func() bool { return true }, dst, packed, lo, hi, steps, &stream, first, &st)
		require.Equal(t, packed, dst)
	}
}
