package spins

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/conf"
)

// graphs are of every kind that the code tells apart.
func graphs() map[string]Hamiltonian {
	withFields := cubicGlass(3, 4)
	for i := range withFields.Spins {
		withFields.Fields = append(withFields.Fields, float64(i%3-1))
	}
	withFields.Offset = 7
	return map[string]Hamiltonian{
		"one spin":     {Spins: 1, Fields: []float64{-2.5}},
		"no edge":      {Spins: 70},
		"ring":         ring(12, 1),
		"odd ring":     ring(65, -0.5),
		"glass":        cubicGlass(4, 1),
		"glass, field": withFields,
		"all to all":   sherringtonKirkpatrick(40, 1),
		"sparse":       sparse(200, 500, 1, normal),
	}
}

func TestEnergiesAgreeWithTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, h := range graphs() {
		g := build(t, h)
		const rows = 9
		batch, all := randomBatch(r, g.N(), rows)
		energies, differences, sites := make([]float64, rows), make([]float64, rows), make([]int32, rows)
		for k := range sites {
			sites[k] = int32(r.IntN(g.N()))
		}
		g.Energies(energies, batch)
		for k, i := range sites {
			differences[k] = g.Difference(batch[k*g.Words():][:g.Words()], int(i))
		}
		tolerance := 0.0
		if !g.isInteger {
			tolerance = 1e-13 * (1 + g.EnergyBound())
		}
		for k, s := range all {
			e := energyOf(&h, s)
			require.InDelta(t, e, energies[k], tolerance, name)
			i := sites[k]
			s[i] = -s[i]
			require.InDelta(t, energyOf(&h, s)-e, differences[k], tolerance, name)
			s[i] = -s[i]
			total := 0
			for _, x := range s {
				total += x
			}
			require.Equal(t, total, g.Magnetisation(batch[k*g.Words():][:g.Words()]))
		}
		require.Zero(t, alloctest.PerRun(5, func() { g.Energies(energies, batch) }))
	}
}

func TestNeighbours(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		require.True(t, slices.IsSortedFunc(g.Edges(), func(a, b Edge) int {
			if a.I != b.I {
				return a.I - b.I
			}
			return a.J - b.J
		}), name)
		want := map[[2]int]float64{}
		for _, e := range h.Edges {
			want[[2]int{e.I, e.J}], want[[2]int{e.J, e.I}] = e.Coupling, e.Coupling
		}
		seen := 0
		for i := range g.N() {
			near, couplings := g.Neighbours(i)
			require.True(t, slices.IsSorted(near), name)
			require.Len(t, near, g.Degree(i))
			for k, j := range near {
				require.Equal(t, want[[2]int{i, int(j)}], couplings[k], name)
				seen++
			}
		}
		require.Equal(t, len(want), seen, name)
	}
}

// TestHash: it depends on the energy function alone.
func TestHash(t *testing.T) {
	h := sherringtonKirkpatrick(20, 1)
	g := build(t, h)
	other := g.Hamiltonian()
	slices.Reverse(other.Edges)
	for k, e := range other.Edges {
		other.Edges[k] = Edge{e.J, e.I, e.Coupling}
	}
	for i := range other.Spins {
		other.Labels = append(other.Labels, string(rune('a'+i)))
	}
	require.Equal(t, g.Hash(), build(t, other).Hash())
	zero, negative := Hamiltonian{Spins: 2, Edges: []Edge{{0, 1, 0}}}, Hamiltonian{Spins: 2, Edges: []Edge{{0, 1, math.Copysign(0, -1)}}, Fields: []float64{0, 0}}
	require.Equal(t, build(t, zero).Hash(), build(t, negative).Hash())
	seen := map[string]bool{g.Hash(): true}
	for _, change := range []func(h *Hamiltonian){
		func(h *Hamiltonian) { h.Spins++; h.Fields = append(h.Fields, 0) },
		func(h *Hamiltonian) { h.Offset = 1 },
		func(h *Hamiltonian) { h.Fields[3]++ },
		func(h *Hamiltonian) { h.Fields = nil },
		func(h *Hamiltonian) { h.Edges[5].Coupling = -h.Edges[5].Coupling },
		func(h *Hamiltonian) { h.Edges = h.Edges[1:] },
	} {
		h := g.Hamiltonian()
		change(&h)
		hash := build(t, h).Hash()
		require.False(t, seen[hash])
		seen[hash] = true
	}
	// The canonical form is a promise: other programs may compute it.
	require.Equal(t, "3b3cac1208fc2c9026810e094ce4c4196122102d8b2fd6bdef7ba7ea74dac034", build(t, ring(4, 1)).Hash())
}

func TestDescription(t *testing.T) {
	for _, c := range []struct {
		h    Hamiltonian
		want string
	}{
		{ring(4, 1), "4 spins, 4 edges, degree 2, J 1, no field, all integers, bipartite; hash "},
		{ring(5, -0.5), "5 spins, 5 edges, degree 2, J -0.5, no field, not all integers, not bipartite; hash "},
		{cubicGlass(3, 1), "27 spins, 81 edges, degree 6, J -1 to 1, no field, all integers, not bipartite; hash "},
		{Hamiltonian{Spins: 1, Fields: []float64{2}, Offset: 3}, "1 spin, 0 edges, h 2, offset 3, all integers, bipartite; hash "},
	} {
		g := build(t, c.h)
		require.Equal(t, c.want+g.Hash()[:12], g.String())
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(h *Hamiltonian){
		"spins: 0 is not between 1 and 1048576":                                 func(h *Hamiltonian) { h.Spins = 0 },
		"spins: 1048577 is not between 1 and 1048576":                           func(h *Hamiltonian) { h.Spins = MaxSpins + 1 },
		"fields: 2 numbers for 4 spins":                                         func(h *Hamiltonian) { h.Fields = []float64{1, 2} },
		"labels: 1 names for 4 spins":                                           func(h *Hamiltonian) { h.Labels = []string{"a"} },
		"offset: NaN is not finite":                                             func(h *Hamiltonian) { h.Offset = math.NaN() },
		"edges[1]: there is no spin 4; the spins are 0 to 3":                    func(h *Hamiltonian) { h.Edges[1].I = 4 },
		"edges[1]: there is no spin -1; the spins are 0 to 3":                   func(h *Hamiltonian) { h.Edges[1].J = -1 },
		"edges[2]: spin 2 is coupled to itself; s² = 1 belongs into the offset": func(h *Hamiltonian) { h.Edges[2].J = 2 },
		"edges[0]: the coupling +Inf is not finite":                             func(h *Hamiltonian) { h.Edges[0].Coupling = math.Inf(1) },
		"fields[3]: -Inf is not finite":                                         func(h *Hamiltonian) { h.Fields = []float64{0, 0, 0, math.Inf(-1)} },
		"edges: energies reach 1e+308, which float64 does not hold":             func(h *Hamiltonian) { h.Edges[3].Coupling = -1e308 },
		"labels[1]: is empty":                                                   func(h *Hamiltonian) { h.Labels = []string{"a", "", "b", "c"} },
		`labels[2]: "a" is already the name of spin 0`:                          func(h *Hamiltonian) { h.Labels = []string{"a", "b", "a", "c"} },
		"edges[4]: spins 1 and 0 are coupled for the second time, first by edges[0]; write one edge": func(h *Hamiltonian) {
			h.Edges = append(h.Edges, Edge{1, 0, 1}, Edge{2, 1, 1})
		},
	} {
		h := ring(4, 1)
		change(&h)
		require.EqualError(t, h.Validate(), want)
		_, err := NewGraph(h)
		require.EqualError(t, err, want)
	}
	h := ring(4, 1)
	h.Edges = make([]Edge, MaxEdges+1)
	require.EqualError(t, h.Validate(), "edges: 16777217 edges are more than 16777216")
}

// TestColours: no edge inside a colour, every spin once, few colours, the same
// each time.
func TestColours(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		sets := g.Colours()
		require.Equal(t, sets, g.Colours(), name)
		colour := make([]int, g.N())
		for c, set := range sets {
			require.True(t, slices.IsSorted(set), name)
			for _, i := range set {
				require.Zero(t, colour[i], name)
				colour[i] = c + 1
			}
		}
		require.NotContains(t, colour, 0)
		most := 0
		for _, e := range g.Edges() {
			require.NotEqual(t, colour[e.I], colour[e.J], name)
		}
		for i := range g.N() {
			most = max(most, g.Degree(i))
		}
		require.LessOrEqual(t, len(sets), most+1, name)
		if g.sides != nil {
			require.LessOrEqual(t, len(sets), 2)
		}
	}
	require.Len(t, build(t, ring(65, 1)).Colours(), 3)
	require.Len(t, build(t, ring(64, 1)).Colours(), 2)
	require.Len(t, build(t, sherringtonKirkpatrick(40, 1)).Colours(), 40)
}

// TestInline: a configuration holds a Hamiltonian under the keys of its file.
func TestInline(t *testing.T) {
	type config struct {
		Target struct {
			Graph Hamiltonian `json:"graph"`
			Beta  float64     `json:"beta"`
		} `json:"target"`
	}
	var c config
	text := `{"target": {"beta": 0.5, "graph": {"spins": 3, "edges": [[0, 1, 1e-3], [2,1,-2]], "fields": [0, 1, 0]}}}`
	require.NoError(t, conf.Decode([]byte(text), "f", &c))
	require.Equal(t, Hamiltonian{Spins: 3, Edges: []Edge{{0, 1, 1e-3}, {2, 1, -2}}, Fields: []float64{0, 1, 0}}, c.Target.Graph)
	encoded, err := conf.Encode(&c)
	require.NoError(t, err)
	var again config
	require.NoError(t, conf.Decode(encoded, "f", &again))
	require.Equal(t, c, again)
	for edge, want := range map[string]string{
		`[0, 1]`:              "f:1:33: target.graph.edges[0]: [0, 1] where an edge is [i, j, J], two numbers of spins and their coupling",
		`[0, 1, 2, 3]`:        "f:1:33: target.graph.edges[0]: [0, 1, 2, 3] where an edge is [i, j, J], two numbers of spins and their coupling",
		`{"i": 0}`:            `f:1:33: target.graph.edges[0]: {"i": 0} where an edge is [i, j, J], two numbers of spins and their coupling`,
		`[-1, 1, 2]`:          `f:1:33: target.graph.edges[0]: "-1" is not the number of a spin`,
		`[0, 1.5, 2]`:         `f:1:33: target.graph.edges[0]: "1.5" is not the number of a spin`,
		`[0, 1, "2"]`:         `f:1:33: target.graph.edges[0]: "\"2\"" is not a finite number`,
		`[0, 1, 1e999]`:       "f:1:33: target.graph.edges[0]: 1e999 is too large for a float64",
		`[0, 1, 1e-999]`:      "f:1:33: target.graph.edges[0]: 1e-999 is too small for a float64; write 0",
		`[0, 99999999999, 1]`: `f:1:33: target.graph.edges[0]: "99999999999" is not the number of a spin`,
	} {
		require.EqualError(t, conf.Decode([]byte(`{"target": {"graph": {"edges": [`+edge+`]}}}`), "f", &c), want)
	}
	for _, text := range []string{"", "[", "[0, 1, 25", "50, 1, 2]"} { // which nothing of JSON passes on
		require.ErrorContains(t, new(Edge).UnmarshalJSON([]byte(text)), "where an edge is [i, j, J]", text)
	}
	_, err = json.Marshal(Edge{0, 1, math.NaN()})
	require.ErrorContains(t, err, "the coupling NaN of spins 0 and 1 is not finite")
}

func TestErrorsQuoteFortyCharacters(t *testing.T) {
	forty := strings.Repeat("é", 40)
	require.Equal(t, forty, shorten(forty))
	require.Equal(t, forty+"…", shorten(forty+"x"))
}
