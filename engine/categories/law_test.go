package categories

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A lawCase is a target with the sites that networks draw.
type lawCase struct {
	Target
	learned []bool
	tables  int // that are kept
}

// lawCases have exact sites alone, with leaves and as leaves; some have too many neighbours for
// a table.
func lawCases() map[string]lawCase {
	r := rand.New(rand.NewPCG(9, 9))
	graph := func(states []int, edges ...[2]int) (t Target) {
		t = Target{States: states, Beta: 0.6, Offset: 0.4}
		for _, e := range edges {
			table := make([]float64, states[e[0]]*states[e[1]])
			for k := range table {
				table[k] = r.NormFloat64()
			}
			t.Pairs = append(t.Pairs, Pair{e[0], e[1], table})
		}
		for i, q := range states {
			t.Fields = append(t.Fields, nil)
			for range q * (i % 2) {
				t.Fields[i] = append(t.Fields[i], r.NormFloat64())
			}
		}
		return t
	}
	all := map[string]lawCase{
		"alone": {graph([]int{3, 2}), []bool{false, false}, 4},
		"leaf":  {graph([]int{4, 5, 3}, [2]int{0, 1}, [2]int{1, 2}, [2]int{0, 2}), []bool{true, false, true}, 4},
		// Site 0 has the leaves 1 and 2, and 3 is drawn.
		"star": {graph([]int{3, 4, 2, 5}, [2]int{0, 1}, [2]int{2, 0}, [2]int{0, 3}, [2]int{3, 1}), []bool{false, false, false, true}, 5},
		"pair": {graph([]int{3, 4, 2}, [2]int{0, 1}, [2]int{1, 2}), []bool{false, false, true}, 4},
		// The neighbours of site 0 have 16·16·4 states together, which a table holds, and
		// 16·16·5, which it does not.
		"table":    {graph([]int{3, 16, 16, 4}, [2]int{0, 1}, [2]int{0, 2}, [2]int{3, 0}), []bool{false, true, true, true}, 5},
		"no table": {graph([]int{3, 16, 16, 5}, [2]int{0, 1}, [2]int{0, 2}, [2]int{3, 0}), []bool{false, true, true, true}, 3},
		"large": {graph([]int{3, 16, 16, 6, 2, 16}, [2]int{0, 1}, [2]int{0, 2}, [2]int{3, 0}, [2]int{0, 4}, [2]int{4, 5}),
			[]bool{false, true, true, true, false, true}, 5},
	}
	// Each leaf leaves one state of the centre no weight to speak of.
	far := Target{States: []int{2, 2, 2}, Beta: 1, Pairs: []Pair{{0, 1, []float64{250, 0, 0, 0}}, {0, 2, []float64{0, 0, 250, 0}}}, Fields: [][]float64{nil, {0, 300}, {0, 300}}}
	all["far apart"] = lawCase{far, []bool{false, false, false}, 4}
	return all
}

// TestLaw compares ln W with sums over the exact sites, and draws of a site given the others,
// and of the exact ones, with thresholds of cumulated probabilities, at two temperatures that
// laws and their copies go to and fro between.
func TestLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for name, c := range lawCases() {
		require.NoError(t, c.Validate())
		original, err := newLaw(&c.Target, c.learned)
		require.NoError(t, err)
		require.Len(t, original.tables, c.tables, name)
		n := c.N()
		original.setBeta(c.Beta)
		copied := original.copy()
		copied.setBeta(c.Beta / 3)
		for k, l := range []*law{original, copied, original} {
			beta := []float64{c.Beta, c.Beta / 3, c.Beta / 5}[k]
			l.setBeta(beta)
			at := c.Target
			at.Beta = beta
			state := make([]byte, n*block)
			for i := range state {
				state[i] = byte(r.IntN(c.States[i/block]))
			}
			x := make([]byte, n)
			var logW [block]float64
			for b := range logW {
				logW[b] = float64(b)
			}
			l.addLogWeights(&logW, -2, state)
			for b := range block {
				rows(x, state, n, b)
				require.InDelta(t, float64(b)-2*logSum(&at, x, c.learned), logW[b], 1e-9, name)
			}

			var words [block]uint32
			for i := range n {
				moved := slices.Clone(state)
				for b := range words {
					words[b] = r.Uint32()
				}
				l.draw(&l.sites[i], moved, &words)
				for b := range block {
					rows(x, state, n, b)
					x[i] = drawnOf(&at, x, i, nil, words[b])
					got := make([]byte, n)
					rows(got, moved, n, b)
					require.Equal(t, x, got, name)
				}
			}

			// Centres are drawn with their leaves summed out, and then the leaves.
			stream := rng.Stream(7, rng.SampleHead, 2)
			var w, again hierarchy.RandomWords
			w.Start(&stream, 16, math.MaxInt)
			again.Start(&stream, 16, math.MaxInt)
			moved := slices.Clone(state)
			l.complete(moved, &w)
			var order []int
			for _, s := range l.stars {
				if s.leaves != nil {
					order = append(order, s.centre.site)
				}
			}
			summed := make([]bool, n)
			for _, i := range l.lastExact {
				summed[i] = true
			}
			for k, i := range append(order, l.lastExact...) {
				if k == len(order) {
					summed = nil
				}
				words := again.Next()
				for b := range block {
					rows(x, state, n, b)
					state[i*block+b] = drawnOf(&at, x, i, summed, words[b])
				}
			}
			require.Equal(t, state, moved, name)
		}
	}
}

// logSum is ln of the sum of weights over all sites that are not fixed.
func logSum(t *Target, x []byte, fixed []bool) float64 {
	s := slices.Clone(x)
	var logs []float64
	var add func(i int)
	add = func(i int) {
		switch {
		case i == len(s):
			logs = append(logs, -t.Beta*t.Energy(s))
		case fixed[i]:
			add(i + 1)
		default:
			for c := range t.States[i] {
				s[i] = byte(c)
				add(i + 1)
			}
		}
	}
	add(0)
	most := slices.Max(logs)
	var sum float64
	for _, log := range logs {
		sum += math.Exp(log - most)
	}
	return most + math.Log(sum)
}

// drawnOf is the state that a word draws of site i given the others, some of which are summed out.
func drawnOf(t *Target, x []byte, i int, summed []bool, word uint32) byte {
	s, fixed := slices.Clone(x), make([]bool, len(x))
	for j := range fixed {
		fixed[j] = summed == nil || !summed[j]
	}
	total := make([]bool, len(x))
	copy(total, fixed)
	fixed[i], total[i] = true, false
	all := logSum(t, s, total)
	var below float64
	for c := range t.States[i] - 1 {
		s[i] = byte(c)
		below += math.Exp(logSum(t, s, fixed) - all)
		if float64(word) < below*0x1p32-0.5 {
			return byte(c)
		}
	}
	return byte(t.States[i] - 1)
}

// TestSharedTables: sites of a lattice share tables of up to 2¹⁶ entries.
func TestSharedTables(t *testing.T) {
	for _, c := range []struct{ l, q, tables int }{{8, 3, 1}, {8, 16, 1}, {6, 16, 0}, {4, 4, 1}} {
		l, err := newLaw(&Target{States: Uniform(c.l*c.l, c.q), Pairs: Lattice(c.l, Potts(c.q, 1)), Beta: 1}, nil)
		require.NoError(t, err)
		require.Len(t, l.tables, c.tables, "%v", c)
	}
	_, err := newLaw(&Target{States: Uniform(4, 2), Pairs: []Pair{{0, 1, Potts(2, 1)}, {1, 2, Potts(2, 1)}, {2, 3, Potts(2, 1)}}, Beta: 1}, make([]bool, 4))
	require.EqualError(t, err, "hierarchy: exact sites 1 and 2 are both centres of stars")
}

// TestMetropolis compares steps with the definition: another state of a random site, or other
// names of all.
func TestMetropolis(t *testing.T) {
	for _, c := range []struct {
		target  Target
		relabel float64
	}{
		{Target{States: Uniform(9, 3), Pairs: Lattice(3, Potts(3, 1)), Beta: 0.8}, 0.3},
		{Target{States: Uniform(4, 5), Pairs: Lattice(2, Clock(5, 1)), Beta: 1.2}, 0.3},
		{lawCases()["star"].Target, 0},
	} {
		config := &spins.TransitionConfig{Proposal: "mixture", GlobalFlip: c.relabel}
		if c.relabel == 0 {
			config.Proposal = "single"
		}
		m, err := NewMoves(&c.target, config, 0.5)
		require.NoError(t, err)
		require.Equal(t, 1<<24-1, m.MaxSteps())
		at := c.target
		at.Beta *= 0.5
		n, q := at.N(), at.MaxQ()
		const steps, number, first = 40, 3, 5
		state := make([]byte, n*block)
		want := slices.Clone(state)
		stream := rng.Stream(5, rng.ChainTransition, 1)
		var count, accepted engine.Count
		m.run(state, first, steps, &stream, number, &count)
		var w hierarchy.RandomWords
		w.Start(&stream, (number*(1<<24-1)+first)*4, math.MaxInt)
		x := make([]byte, n)
		for range steps {
			kind, where, which, accept := *w.Next(), *w.Next(), *w.Next(), *w.Next()
			for b := range block {
				rows(x, want, n, b)
				y := slices.Clone(x)
				accepted.Proposed++
				if float64(kind[b]) < c.relabel*0x1p32 {
					i, j := byte(float64(where[b])*0x1p-32*float64(q)), byte(float64(which[b])*0x1p-32*float64(2*q))
					for k := range y {
						switch code, _ := at.Code(); {
						case code == Distance && j%2 == 0:
							y[k] = byte((int(x[k]) + int(i)) % q)
						case code == Distance:
							y[k] = byte((2*q - int(x[k]) - int(i)) % q)
						case x[k] == i:
							y[k] = j / 2
						case x[k] == j/2:
							y[k] = i
						}
					}
					require.InDelta(t, at.Energy(x), at.Energy(y), 1e-12)
				} else {
					site := int(float64(where[b]) * 0x1p-32 * float64(n))
					q := at.States[site]
					y[site] = byte((int(x[site]) + 1 + int(float64(which[b])*0x1p-32*float64(q-1))) % q)
				}
				if (float64(accept[b])+0.5)*0x1p-32 < math.Exp(-at.Beta*(at.Energy(y)-at.Energy(x)))+1e-12 {
					accepted.Accepted++
					for i, s := range y {
						want[i*block+b] = s
					}
				}
			}
		}
		require.Equal(t, want, state)
		require.Equal(t, accepted, count)
	}
}

// TestRun moves rows of configurations as blocks of 64 of a stream, in slices of steps, unless it
// is halted.
func TestRun(t *testing.T) {
	target := Target{States: Uniform(9, 3), Pairs: Lattice(3, Potts(3, 1)), Beta: 0.8}
	const n, samples, steps = 9, 70, 300
	stream := rng.Stream(5, rng.ChainTransition, 1)
	for _, proposal := range []string{spins.Sweeping, "single"} {
		m, err := NewMoves(&target, &spins.TransitionConfig{Proposal: proposal}, 1)
		require.NoError(t, err)
		if proposal == spins.Sweeping {
			require.Equal(t, (1<<26-1)/18, m.MaxSteps())
			mixing, err := MixingOf(&Target{States: target.States, Pairs: target.Pairs, Beta: 9})(0.8)
			require.NoError(t, err)
			m = mixing.(*Moves)
		}
		require.Equal(t, block, m.BlockSize())
		src := make([]byte, (samples+2)*n)
		for i := range src {
			src[i] = byte(i % 3)
		}
		dst := make([]byte, len(src))
		var stats engine.Count
		m.Run(nil, dst, src, 1, samples+1, steps, &stream, 127, &stats) // samples 128 … 197
		var want []byte
		var count engine.Count
		for k := range 2 {
			state := make([]byte, n*block)
			columns(state, src[(1+k*block)*n:min((1+(k+1)*block)*n, (samples+1)*n)], n)
			m.run(state, 0, steps, &stream, uint64(2+k), &count)
			part := make([]byte, n*min(block, samples-k*block))
			rows(part, state, n, 0)
			want = append(want, part...)
		}
		require.Equal(t, append(append(make([]byte, n), want...), make([]byte, n)...), dst)
		require.Equal(t, count, stats)
		require.Equal(t, uint64(2*steps*block), count.Proposed)

		oneHot, err := OneHot{&target}.Kernel(&spins.TransitionConfig{Proposal: proposal}, 1)
		require.NoError(t, err)
		packed, moved := make([]uint64, samples+2), make([]uint64, samples+2)
		for i := range packed {
			OneHot{&target}.Pack(packed[i:][:1], src[i*n:], 1)
		}
		oneHot.Run(nil, moved, packed, 1, samples+1, steps, &stream, 127, &stats)
		for i, x := range moved {
			got := make([]byte, n)
			OneHot{&target}.Unpack(got, 1, []uint64{x})
			require.Equal(t, dst[i*n:][:n], got)
		}

		looks := 0
		m.Run(func() bool { looks++; return looks > 1 }, dst, src, 0, samples, steps, &stream, 128, &stats)
		require.Equal(t, 3, looks) // the first slice of the first block, then none
		require.Equal(t, src[block*n:samples*n], dst[block*n:samples*n])
		state := make([]byte, n*block)
		columns(state, src[:block*n], n)
		m.run(state, 0, 256, &stream, 2, &count)
		rows(want[:block*n], state, n, 0)
		require.Equal(t, want[:block*n], dst[:block*n])
	}
	for _, c := range []struct {
		config spins.TransitionConfig
		want   string
	}{
		{spins.TransitionConfig{Proposal: "multi"}, `transition.proposal: "multi" is for spins; take single, mixture or ` + spins.Sweeping},
		{spins.TransitionConfig{Proposal: "mixture", GlobalFlip: 1.1}, "transition.global_flip: 1.1 is not a probability"},
		{spins.TransitionConfig{Proposal: "mixture", GlobalFlip: -0.1}, "transition.global_flip: -0.1 is not a probability"},
		{spins.TransitionConfig{Proposal: "mixture", GlobalFlip: 1}, ""},
		{spins.TransitionConfig{Proposal: "mixture"}, ""},
	} {
		if _, err := NewMoves(&target, &c.config, 1); c.want != "" {
			require.EqualError(t, err, c.want)
			_, err = OneHot{&target}.Kernel(&c.config, 1)
			require.EqualError(t, err, c.want)
		} else {
			require.NoError(t, err)
		}
	}
}

// TestClusterMoves compares moves with the definition by flooding.
func TestClusterMoves(t *testing.T) {
	target := Target{States: Uniform(9, 3), Pairs: Lattice(3, Potts(3, 1)), Beta: 0.9}
	c, err := NewClusters(&target)
	require.NoError(t, err)
	stream := rng.Stream(2, rng.ClusterTransition, 0)
	const moves, first = 30, 11
	got := []byte{0, 1, 2, 0, 0, 1, 1, 1, 0}
	want := slices.Clone(got)
	for move := range moves {
		c.Move(got, &stream, uint64(first+move), 1)
		draw := drawn(&stream, (first+uint64(move))*8, 32) // 18 pairs in 5 blocks, 9 sites in 3
		label := make([]int, 9)
		for i := range label {
			label[i] = i
		}
		for range 9 {
			for k, p := range target.Pairs {
				if want[p.I] == want[p.J] && float64(draw[k]) < (1-math.Exp(-0.9))*0x1p32 {
					label[p.I] = min(label[p.I], label[p.J])
					label[p.J] = label[p.I]
				}
			}
		}
		// All of a cluster have one state, that of the word of one of its sites.
		for i := range 9 {
			for j := range 9 {
				if label[i] == label[j] {
					require.Equal(t, got[i], got[j])
				}
			}
			require.True(t, slices.ContainsFunc([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, func(j int) bool {
				return label[i] == label[j] && got[i] == byte(float64(draw[20+j])*0x1p-32*3)
			}))
		}
		copy(want, got)
	}
	again := []byte{0, 1, 2, 0, 0, 1, 1, 1, 0}
	c.Move(again, &stream, first, moves)
	require.Equal(t, got, again)
	_, err = NewClusters(&Target{States: Uniform(2, 3), Pairs: []Pair{{0, 1, Potts(3, 1)}}, Fields: [][]float64{{0, 1, 0}, nil}, Beta: 1})
	require.EqualError(t, err, "clusters need energies that depend on whether states are equal, and no field")
	_, err = NewClusters(&Target{States: Uniform(2, 3), Pairs: []Pair{{0, 1, Potts(3, -1)}}, Beta: 1})
	require.EqualError(t, err, "clusters need ferromagnetic couplings, and that of sites 0 and 1 is not")
	c, err = NewClusters(&Target{States: Uniform(2, 3), Pairs: []Pair{{0, 1, Potts(3, 0)}, {0, 1, Potts(3, 40)}}, Beta: 1})
	require.NoError(t, err)
	require.Equal(t, []uint32{0, math.MaxUint32}, c.bond)
}

// TestArchitecture: names of parameters, starting values, limits and sizes.
func drawn(c *rng.Counter, first uint64, n int) []uint32 {
	dst := make([]uint32, n)
	asm.PhiloxBlocks(dst, c, first)
	return dst
}

func TestArchitecture(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	complete := func(states []int, table []float64) (t Target) {
		t = Target{States: states, Beta: 1}
		for i := range states {
			for j := range i {
				t.Pairs = append(t.Pairs, Pair{j, i, table})
			}
		}
		return t
	}
	potts := complete(Uniform(4, 3), Potts(3, 1))
	tables := complete(Uniform(4, 3), []float64{0, 1, 2, 3, 4, 5, 6, 7, 9})
	circle := complete(Uniform(4, 16), Clock(16, 1))
	for _, c := range []struct {
		target Target
		want   map[string]int
	}{
		{potts, map[string]int{"spin:3.weights": 2, "spin:3.output": 2, "spin:3.biases": 2}},
		{tables, map[string]int{
			"spin:1.0.shift": 1, "spin:1.1.shift": 1, "spin:1.2.shift": 1,
			"spin:3.0.weights": 4, "spin:3.0.output": 2, "spin:3.0.biases": 2, "spin:3.0.shift": 1,
			"spin:3.1.weights": 4, "spin:3.1.output": 2, "spin:3.1.biases": 2, "spin:3.1.shift": 1,
			"spin:3.2.weights": 4, "spin:3.2.output": 2, "spin:3.2.biases": 2, "spin:3.2.shift": 1,
		}},
	} {
		m, err := NewModel(c.target, Network{Neighbours: 2, Hidden: 2}, workers)
		require.NoError(t, err)
		require.Equal(t, 4, m.Sites())
		params, names := make([]float32, m.NumParams()), map[string]int{}
		m.Initialize(params, 3)
		weights := map[float32]int{}
		for i, x := range params {
			names[m.TensorName(i)]++
			if strings.HasSuffix(m.TensorName(i), "weights") {
				weights[x]++
			} else {
				require.Zero(t, x)
			}
		}
		require.Equal(t, c.want, names)
		for x, n := range weights { // those of each net are its own
			require.NotZero(t, x)
			require.Equal(t, 1, n)
		}
		require.Equal(t, "parameter -1", m.TensorName(-1))
	}
	for _, c := range []struct {
		target     Target
		side, most int
	}{{potts, 0, 64}, {potts, 4, 56}, {tables, 0, 32}, {tables, 4, 24}, {circle, 4, 4}, {circle, 0, 8}} {
		require.Equal(t, c.most, MaxNeighbours(&c.target, c.side))
	}
	require.Equal(t, []int{64, 8}, []int{MaxHidden(0), MaxHidden(4)})
	_, err := NewModel(potts, Network{Neighbours: 2, Hidden: 65}, workers)
	require.EqualError(t, err, "hidden: 65 is not between 1 and 64")

	m, err := NewModel(potts, Network{Neighbours: 2, Hidden: 2}, workers)
	require.NoError(t, err)
	for _, wrong := range [][2]int{{100, 0}, {64, 1}, {-64, 0}, {1<<20 + 64, 0}} {
		_, err := m.NewBatch(wrong[0], wrong[1], 1, workers)
		require.ErrorContains(t, err, "is not a multiple of 64 up to 1048576")
	}
	_, err = NewSystem(m, &engine.Training{Batch: 96}, engine.Balancing{Partners: 1}, &spins.TransitionConfig{Proposal: "single"}, workers)
	require.EqualError(t, err, "training.batch: 96 is not a multiple of 64 up to 1048576")
	_, err = NewSystem(m, &engine.Training{Batch: 128}, engine.Balancing{Partners: 1}, &spins.TransitionConfig{Proposal: "multi"}, workers)
	require.ErrorContains(t, err, "is for spins")

	training := &engine.Training{Batch: 256}
	demands := Demands(training, engine.Balancing{Partners: 0.25}, &potts, 7)
	before := training.Demands(7)
	require.Equal(t, before, demands[:len(before)])
	// 192 of 256 samples move; half a block more than that, rounded up, is 256.
	require.Equal(t, []engine.Demand{{Key: "training.batch", Bytes: (256 + 256 + 2048) * 4 * (1 + 3.0/8 + 12)}}, demands[len(before):])
}

// TestOrbits: rows of an orbit are those that turning a row and, if told, mirroring it and renaming
// two states after the other make of its first.
func TestOrbits(t *testing.T) {
	for _, c := range []struct {
		l, q            int
		mirror, relabel bool
		orbits          int
	}{
		{4, 2, false, false, 6}, {4, 2, false, true, 4}, {3, 3, false, false, 11}, {3, 3, false, true, 3}, {1, 5, false, true, 1}, {6, 2, false, false, 14}, {5, 3, false, true, 9},
		{6, 2, true, false, 13}, {3, 3, true, false, 10}, {7, 2, true, true, 9}, {5, 3, true, true, 9}, {8, 2, false, true, 20}, {8, 2, true, true, 18},
	} {
		orbits, all := 0, 0
		for start, size := range Orbits(c.l, c.q, c.mirror, c.relabel) {
			all += size
			if size == 0 {
				continue
			}
			orbits++
			rows := (&Target{States: Uniform(c.l, c.q)}).Configurations()
			for k := range rows {
				if sameOrbit(start, k, c.l, c.q, c.mirror, c.relabel) {
					require.GreaterOrEqual(t, k, start)
					size--
				}
			}
			require.Zero(t, size, "%d of %+v", start, c)
		}
		require.Equal(t, int(math.Pow(float64(c.q), float64(c.l))), all)
		require.Equal(t, c.orbits, orbits, "%+v", c)
	}
}

// sameOrbit tries every turn, and names in the order in which they come.
func sameOrbit(a, b, l, q int, mirror, relabel bool) bool {
	row := func(k, turn int, mirrored bool) []int {
		digits := make([]int, l)
		for i := range digits {
			digits[(i+turn)%l] = k % q
			k /= q
		}
		if mirrored {
			slices.Reverse(digits)
		}
		if !relabel {
			return digits
		}
		names := map[int]int{}
		for i, d := range digits {
			if _, ok := names[d]; !ok {
				names[d] = len(names)
			}
			digits[i] = names[d]
		}
		return digits
	}
	for turn := range l {
		if slices.Equal(row(a, turn, false), row(b, 0, false)) || mirror && slices.Equal(row(a, turn, true), row(b, 0, false)) {
			return true
		}
	}
	return false
}
