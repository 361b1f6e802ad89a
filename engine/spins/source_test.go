package spins

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/conf"
)

// Writers of the formats, for graphs without labels. Numbers are written in all
// digits, so that what is read is the same.

func writeRevGen(g *Graph) string {
	h := g.Hamiltonian()
	text, err := conf.Encode(&h)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func writeRudy(g *Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d\n", g.N(), len(g.Edges()))
	for _, e := range g.Edges() {
		fmt.Fprintf(&b, "%d %d %v\n", e.I+1, e.J+1, -e.Coupling)
	}
	return b.String()
}

func writeCOO(g *Graph) string {
	var b strings.Builder
	b.WriteString("# vartype=SPIN\n")
	for i := range g.N() {
		fmt.Fprintf(&b, "%d %d %v\n", i, i, -g.Field(i))
	}
	for _, e := range g.Edges() {
		fmt.Fprintf(&b, "%d %d %v\n", e.I, e.J, -e.Coupling)
	}
	return b.String()
}

// binaryTerms returns the polynomial Σ w x x + Σ w x + offset of the energy.
func binaryTerms(g *Graph) (pairs, linear []float64, offset float64) {
	linear = make([]float64, g.N())
	offset = g.Offset()
	for i := range linear {
		linear[i] = -2 * g.Field(i)
		offset += g.Field(i)
	}
	for _, e := range g.Edges() {
		pairs = append(pairs, -4*e.Coupling)
		linear[e.I] += 2 * e.Coupling
		linear[e.J] += 2 * e.Coupling
		offset -= e.Coupling
	}
	return pairs, linear, offset
}

func writeBinary(g *Graph, title string) (text string, offset float64) {
	var b strings.Builder
	b.WriteString(title)
	pairs, linear, offset := binaryTerms(g)
	for i, w := range linear {
		fmt.Fprintf(&b, "%d %d %v\n", i, i, w)
	}
	for k, e := range g.Edges() {
		fmt.Fprintf(&b, "%d %d %v\n", e.I, e.J, pairs[k])
	}
	return b.String(), offset
}

func writeQUBO(g *Graph) (text string, offset float64) {
	return writeBinary(g, fmt.Sprintf("c from spins\np qubo 0 %d %d %d\n", g.N(), g.N(), len(g.Edges())))
}

func writeBQP(g *Graph, domain string, scale float64) string {
	type m = map[string]any
	pairs, linear, offset := make([]float64, len(g.Edges())), make([]float64, g.N()), g.Offset()
	for i := range linear {
		linear[i] = -g.Field(i)
	}
	for k, e := range g.Edges() {
		pairs[k] = -e.Coupling
	}
	if domain == "boolean" {
		pairs, linear, offset = binaryTerms(g)
	}
	ids, first, second := []int{}, []m{}, []m{}
	for i, w := range linear {
		ids = append(ids, i)
		first = append(first, m{"id": i, "coeff": w / scale})
	}
	for k, e := range g.Edges() {
		second = append(second, m{"id_tail": e.I, "id_head": e.J, "coeff": pairs[k] / scale})
	}
	text, err := json.MarshalIndent(m{"version": "1.0.0", "id": 0, "metadata": m{}, "variable_ids": ids, "variable_domain": domain,
		"scale": scale, "offset": offset / scale, "linear_terms": first, "quadratic_terms": second}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestRoundTrips: every format gives back every graph that it can hold, by its
// content alone and by name.
func TestRoundTrips(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		qubo, offset := writeQUBO(g)
		binary, _ := writeBinary(g, "# vartype=BINARY\n")
		for _, c := range []struct {
			format Format
			text   string
			offset float64 // what the format loses
			exact  bool
		}{
			{RevGen, writeRevGen(g), 0, true},
			{Rudy, writeRudy(g), g.Offset(), true},
			{COO, writeCOO(g), g.Offset(), true},
			{COO, binary, offset, false},
			{QUBO, qubo, offset, false},
			{BQPJSON, writeBQP(g, "spin", 4), 0, true},
			{BQPJSON, writeBQP(g, "boolean", 0.5), 0, false},
		} {
			if c.format == Rudy && g.HasFields() {
				continue
			}
			for _, named := range []Format{"", c.format} {
				r, err := Source{File: "f", Format: named}.Parse([]byte(c.text))
				require.NoError(t, err, "%s as %s", name, c.format)
				require.Equal(t, c.format, r.Format)
				got := r.Graph.Hamiltonian()
				want := g.Hamiltonian()
				if c.exact {
					want.Offset -= c.offset
					require.Equal(t, build(t, want).Hash(), r.Graph.Hash(), "%s as %s", name, c.format)
					require.Equal(t, want, got, "%s as %s", name, c.format)
				} else {
					batch, _ := randomBatch(rand.New(rand.NewPCG(1, 2)), g.N(), 5)
					x, y := make([]float64, 5), make([]float64, 5)
					g.Energies(x, batch)
					r.Graph.Energies(y, batch)
					for k := range x {
						require.InDelta(t, x[k], y[k]+c.offset, 1e-12*(1+g.EnergyBound()), "%s as %s", name, c.format)
					}
				}
				// The resolved source reads the same.
				again, err := r.Source.Parse([]byte(c.text))
				require.NoError(t, err)
				require.Equal(t, r, again)
			}
		}
	}
}

func parse(source Source, text string) (*Reading, error) {
	source.File = "f"
	return source.Parse([]byte(text))
}

// TestConventions: one edge and one field in each format, and what they mean.
func TestConventions(t *testing.T) {
	for _, c := range []struct {
		source     Source
		text       string
		j, h       float64
		offset     float64
		convention string
	}{
		{Source{}, `{"spins": 2, "edges": [[1, 0, 3]], "fields": [5, 0], "offset": 1}`, 3, 5, 1,
			"spins s = ±1 numbered from 0, E = −Σ J s s − Σ h s + offset"},
		{Source{}, "2 1\n1 2 3\n", -3, 0, 0, "spins s = ±1 numbered from 1, Max-Cut, E = +Σ w s s, so J = −w"},
		{Source{Format: Rudy, Sign: SignCoupling}, "2 1\n1 2 3\n", 3, 0, 0, "spins s = ±1 numbered from 1, E = −Σ w s s, so J = w, not Max-Cut"},
		{Source{Sign: SignCoupling}, "# from elsewhere\n\n2 1\n2 1 3", 3, 0, 0, "spins s = ±1 numbered from 1, E = −Σ w s s, so J = w, not Max-Cut"},
		{Source{}, "# vartype=SPIN\n0 0 5\n1 0 3.000000\n", -3, -5, 0, "spins s = ±1 numbered from 0, E = +Σ w s s + Σ w s, so J = −w"},
		{Source{Vartype: VartypeSpin, Sign: SignCoupling}, "0 0 5\r\n0\t1 +3e0\r\n", 3, 5, 0, "spins s = ±1 numbered from 0, E = −Σ w s s − Σ w s, so J = w"},
		{Source{}, "#: vartype:BINARY\n0 1 4\n0 0 8\n", -1, -5, 5, "binary x = (1 + s)/2 numbered from 0, E = +Σ w x x + Σ w x, so J = −w/4"},
		{Source{Vartype: VartypeBinary, Sign: SignCoupling}, "0 1 4\n0 0 8\n", 1, 5, -5, "binary x = (1 + s)/2 numbered from 0, E = −Σ w x x − Σ w x, so J = w/4"},
		{Source{}, "c say\np qubo 0 2 1 1\n0 0 8\n0 1 4\n", -1, -5, 5, "binary x = (1 + s)/2 numbered from 0, E = +Σ w x x + Σ w x, so J = −w/4"},
		{Source{}, `{"variable_domain": "spin", "variable_ids": [0, 1], "scale": 2, "offset": 0.5,
			"linear_terms": [{"id": 0, "coeff": -2.5}], "quadratic_terms": [{"id_head": 0, "id_tail": 1, "coeff": -1.5}],
			"version": "1.0.0", "id": 7, "metadata": {"any": ["thing"]}, "solutions": [], "description": ""}`, 3, 5, 1,
			"spins s = ±1 numbered from 0, E = scale·(Σ w s s + Σ w s + offset), so J = −scale·w"},
		{Source{}, `{"variable_domain": "boolean", "variable_ids": [0, 1], "scale": -2, "offset": 0,
			"linear_terms": [{"id": 0, "coeff": 4}], "quadratic_terms": [{"id_head": 0, "id_tail": 1, "coeff": 2}]}`, 1, 5, -5,
			"binary x = (1 + s)/2 numbered from 0, E = scale·(Σ w x x + Σ w x + offset), so J = −scale·w/4"},
	} {
		r, err := parse(c.source, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, []Edge{{0, 1, c.j}}, r.Graph.Edges(), c.text)
		require.Equal(t, c.h, r.Graph.Field(0), c.text)
		require.Equal(t, c.offset, r.Graph.Offset(), c.text)
		require.Equal(t, c.convention, r.Convention(), c.text)
		require.Equal(t, "f ("+string(r.Format)+": "+c.convention+"): "+r.Graph.String(), r.String())
		require.Len(t, r.SHA256, 64)
	}
}

// TestSparseNumbers keeps the numbers of the file as labels.
func TestSparseNumbers(t *testing.T) {
	for _, text := range []string{
		"# vartype=SPIN\n7 3 2\n3 3 1\n", "# vartype=SPIN\n3 3 1\n3 7 2\n",
		`{"variable_domain": "spin", "variable_ids": [7, 3], "scale": 1, "offset": 0, "linear_terms": [{"id": 3, "coeff": 1}], "quadratic_terms": [{"id_tail": 7, "id_head": 3, "coeff": 2}]}`,
	} {
		r, err := parse(Source{}, text)
		require.NoError(t, err)
		require.Equal(t, Hamiltonian{Spins: 2, Edges: []Edge{{0, 1, -2}}, Fields: []float64{-1, 0}, Labels: []string{"3", "7"}}, r.Graph.Hamiltonian())
		require.Equal(t, "7", r.Graph.Label(1))
	}
	r, err := parse(Source{}, "3 1\n1 3 1\n")
	require.NoError(t, err)
	require.Equal(t, 3, r.Graph.N(), "spins without edges are announced")
	require.Equal(t, "0", r.Graph.Label(0))
}

func TestErrors(t *testing.T) {
	const bare = "f: lines of three numbers alone do not say what they mean; set vartype to spin or binary, and sign to energy (E = +Σ w s s, as in dimod) or coupling (E = −Σ w s s)"
	const wanted = ` where a line is "i j w", two numbers of spins and a weight`
	bqp := func(variables, linear, quadratic string) string {
		return "{\"variable_domain\": \"spin\", \"scale\": 1, \"offset\": 0,\n\"variable_ids\": [" + variables + "],\n\"linear_terms\": [" + linear + "],\n\"quadratic_terms\": [" + quadratic + "]}"
	}
	for _, c := range []struct {
		source     Source
		text, want string
	}{
		{Source{}, "", "f: holds nothing but comments"},
		{Source{Format: Rudy}, "# nothing\n", "f: holds nothing but comments"},
		{Source{}, "hello\n", `f: line 1, "hello", is of no known format; there are revgen, rudy, coo, qubo, bqpjson`},
		{Source{}, "0 1 1\n", bare},
		{Source{Vartype: VartypeSpin}, "0 1 1\n", bare},
		{Source{Sign: SignEnergy}, "0 1 1\n", bare},
		{Source{Format: COO}, "0 1 1\n", `f: does not say what its variables are; set vartype to spin or binary, or begin it with the line "# vartype=SPIN"`},
		{Source{Format: "dimod"}, "0 1 1\n", `format: "dimod" is not one of revgen, rudy, coo, qubo, bqpjson`},
		{Source{Sign: "plus"}, "0 1 1\n", `sign: "plus" is not one of energy, coupling`},
		{Source{Vartype: "SPIN"}, "0 1 1\n", `vartype: "SPIN" is not one of spin, binary`},
		{Source{Format: RevGen, Sign: SignEnergy}, "{}", "sign: format revgen defines the sign; remove it"},
		{Source{Sign: SignEnergy}, "{}", "f: looks like format revgen: sign: format revgen defines the sign; remove it"},
		{Source{Format: Rudy, Vartype: VartypeSpin}, "", "vartype: format rudy defines what the variables are; remove it"},
		// rudy
		{Source{}, "2 1\n1 1 3\n", "f:2: spin 1 is coupled to itself; an edge joins two spins"},
		{Source{}, "2 1\n1 2\n", `f:2: "1 2"` + wanted},
		{Source{}, "2 1\n1 2 3 4\n", `f:2: "1 2 3 4"` + wanted},
		{Source{}, "2 1\n1 3 1\n", "f:2: there is no spin 3; by line 1 they are 1 to 2"},
		{Source{}, "2 1\n0 1 1\n", "f:2: there is no spin 0; by line 1 they are 1 to 2"},
		{Source{}, "2 1\n1 2 x\n", `f:2: "x" is not a finite number`},
		{Source{}, "2 1\n1 2 NaN\n", `f:2: "NaN" is not a finite number`},
		{Source{}, "2 1\n1 2 0x1p3\n", `f:2: "0x1p3" is not a finite number`},
		{Source{}, "2 1\n1 2 1e400\n", "f:2: 1e400 is too large for a float64"},
		{Source{}, "2 1\n1 2 1e-400\n", "f:2: 1e-400 is too small for a float64; write 0"},
		{Source{}, "2 1\n1 -2 1\n", `f:2: "-2" is not the number of a spin`},
		{Source{}, "2 1\n1 2 1\nend\n", `f:3: "end"` + wanted},
		{Source{}, "3 2\n1 2 1\n", "f:1: announces 2 edges, but there are 1"},
		{Source{}, "3 1\n1 2 1\n2 3 1\n", "f:1: announces 1 edge, but there are 2"},
		{Source{}, "3 3\n1 2 1\n\n3 2 1\n2 1 1\n", "f:5: spins 2 and 1 are coupled for the second time, first in line 2; write one edge"},
		{Source{}, "0 1\n", "f:1: the number of spins, 0, is not between 1 and 1048576"},
		{Source{}, "99999999999999999999 1\n", "f:1: the number of spins, 99999999999999999999, is not between 1 and 1048576"},
		{Source{}, "2 -1\n", "f:1: the number of edges, -1, is not between 0 and 16777216"},
		{Source{Format: Rudy}, "2 1 1\n", `f:1: "2 1 1" where the first line is "n m", the numbers of spins and of edges`},
		{Source{}, "3 2\n1 2 1e308\n2 3 1e308\n", "f: edges: energies reach +Inf, which float64 does not hold"},
		// coo
		{Source{}, "# vartype=SPIN\n0 1 1\n1 0 2\n", "f:3: spins 1 and 0 are coupled for the second time, first in line 2; write one edge"},
		{Source{}, "# vartype=SPIN\n0 0 1\n0 1 1\n0 0 2\n", "f:4: variable 0 has its second linear term, after that of line 2; write one"},
		{Source{}, "# vartype=INTEGER\n0 1 1\n", "f:1: vartype INTEGER is neither SPIN nor BINARY"},
		{Source{Vartype: VartypeBinary}, "# vartype=SPIN\n0 1 1\n", "f:1: vartype is spin here and was binary before"},
		{Source{Format: COO}, "# vartype=SPIN\n", "f: names no variable"},
		{Source{Format: COO}, "# vartype=SPIN\n0 1 1e\n", `f:2: "1e" is not a finite number`},
		{Source{Format: COO}, "# vartype=SPIN\n0 99999999999 1\n", `f:2: "99999999999" is not the number of a spin`},
		// qubo
		{Source{}, "p qubo 0 2 1\n", `f:1: "p qubo 0 2 1" where a line "p qubo 0 size linear quadratic" is needed`},
		{Source{Format: QUBO}, "0 1 1\n", `f:1: "0 1 1" where a line "p qubo 0 size linear quadratic" is needed`},
		{Source{}, "p qubo 0 2 x 1\n", "f:1: the number of linear terms, x, is not between 0 and 1048576"},
		{Source{}, "p qubo 0 2 1 1\n0 1 1\n", "f:1: announces 1 linear term, but there are 0"},
		{Source{}, "p qubo 0 2 0 1\n0 1 1\n1 1 1\n", "f:1: announces 0 linear terms, but there are 1"},
		{Source{}, "p qubo 0 2 1 0\n0 1 1\n1 1 1\n", "f:1: announces 0 edges, but there are 1"},
		{Source{}, "2 0\n1 2 1\n", "f:1: announces 0 edges, but there are 1"},
		{Source{}, "p qubo 0 2 0 1\n0 2 1\n", "f:2: there is no spin 2; by line 1 they are 0 to 1"},
		{Source{}, "p qubo 0 2 0 0\n", "f: names no variable"},
		// revgen
		{Source{}, `{"spins": 2, "edges": [[0, 1, 1]], "colour": 3}`, "f:1:36: colour: unknown key; the keys here are spins, edges, fields, offset, labels"},
		{Source{}, "{\"spins\": 2, \"edges\": [[0, 1, 1],\n[1, 0, 1]]}", "f:2:1: edges[1]: spins 1 and 0 are coupled for the second time, first by edges[0]; write one edge"},
		{Source{}, "{\"spins\": 2, \"edges\": [[0, 1, 1],\n [1, 2, 1]]}", "f:2:2: edges[1]: there is no spin 2; the spins are 0 to 1"},
		{Source{}, `{"edges": [[0, 1, 1]]}`, "f: spins: 0 is not between 1 and 1048576"},
		{Source{}, `{"spins": 2, "edges": [[0, 1, 1]]`, "f:1:34: ends too early: a closing bracket or quote is missing"},
		{Source{}, "{\"spins\": 2,\n \"fields\": [1], \"edges\": []}", "f:2:12: fields: 1 numbers for 2 spins"},
		// bqpjson
		{Source{Format: BQPJSON}, `{"variable_domain": "both"}`, `f:1:21: variable_domain: "both" is neither spin nor boolean`},
		{Source{Format: BQPJSON}, `{}`, `f: variable_domain: "" is neither spin nor boolean`},
		{Source{}, `{"variable_domain": "spin", "offset": 0}`, "f: scale: is missing"},
		{Source{}, `{"variable_domain": "spin", "scale": 1}`, "f: offset: is missing"},
		{Source{}, bqp("", "", ""), "f:2:17: variable_ids: names no variable"},
		{Source{}, bqp("1, 2, 1", "", ""), "f:2:17: variable_ids: 1 stands here twice"},
		{Source{}, bqp("1, -2", "", ""), "f:2:21: variable_ids[1]: -2 is not the number of a variable"},
		{Source{}, bqp("1, 2", `{"id": 3, "coeff": 1}`, ""), "f:3:18: linear_terms[0]: variable 3 is not among variable_ids"},
		{Source{}, bqp("1, 2", `{"coeff": 1}`, ""), "f:3:18: linear_terms[0]: a number of a variable is missing"},
		{Source{}, bqp("1, 2", `{"id": 1}`, ""), "f:3:18: linear_terms[0]: coeff is missing"},
		{Source{}, bqp("1, 2", `{"id": 1, "coeff": 1}, {"id": 1, "coeff": 1}`, ""), "f:3:41: linear_terms[1]: variable 1 has its second linear term; write one"},
		{Source{}, bqp("1, 2", "", `{"id_tail": 1, "id_head": 3, "coeff": 1}`), "f:4:21: quadratic_terms[0]: variable 3 is not among variable_ids"},
		{Source{}, bqp("1, 2", "", `{"id_tail": 1, "coeff": 1}`), "f:4:21: quadratic_terms[0]: a number of a variable is missing"},
		{Source{}, bqp("1, 2", "", `{"id_head": 1, "coeff": 1}`), "f:4:21: quadratic_terms[0]: a number of a variable is missing"},
		{Source{}, bqp("1, 2", "", `{"id_tail": 1, "id_head": 2}`), "f:4:21: quadratic_terms[0]: coeff is missing"},
		{Source{}, bqp("1, 2", "", `{"id_tail": 2, "id_head": 2, "coeff": 1}`), "f:4:21: quadratic_terms[0]: variable 2 is coupled to itself"},
		{Source{}, bqp("1, 2", "", `{"id_tail": 1, "id_head": 2, "coeff": 1}, {"id_tail": 2, "id_head": 1, "coeff": 1}`),
			"f:4:63: quadratic_terms[1]: variables 2 and 1 are coupled for the second time, first by quadratic_terms[0]; write one term"},
		{Source{}, strings.Replace(bqp("1, 2", "", `{"id_tail": 1, "id_head": 2, "coeff": 1e308}`), `"scale": 1`, `"scale": 1e10`, 1), "f: edges[0]: the coupling -Inf is not finite"},
	} {
		_, err := parse(c.source, c.text)
		require.EqualError(t, err, c.want, "%q", c.text)
	}
	_, err := Source{}.Parse(nil)
	require.EqualError(t, err, "file: is empty; name a file")
	_, err = Source{File: "f"}.Parse(make([]byte, MaxFile+1))
	require.EqualError(t, err, "f: 536870913 bytes are more than 536870912, which such a file never has")
}

// TestAnnouncements: what the numbers of a header may be, and the first that they may not.
func TestAnnouncements(t *testing.T) {
	for _, c := range []struct{ spins, pairs, linear, want string }{
		{"1", "0", "0", ""}, {"1048576", "16777216", "1048576", ""},
		{"0", "0", "0", "f:7: the number of spins, 0, is not between 1 and 1048576"}, {"1048577", "0", "0", "f:7: the number of spins, 1048577, is not between 1 and 1048576"},
		{"1", "-1", "0", "f:7: the number of edges, -1, is not between 0 and 16777216"}, {"1", "16777217", "0", "f:7: the number of edges, 16777217, is not between 0 and 16777216"},
		{"1", "1.0", "0", "f:7: the number of edges, 1.0, is not between 0 and 16777216"}, {"1", "0", "-1", "f:7: the number of linear terms, -1, is not between 0 and 1048576"},
		{"1", "0", "1048577", "f:7: the number of linear terms, 1048577, is not between 0 and 1048576"}, {"x" + strings.Repeat("é", 50), "0", "0", "f:7: the number of spins, x" + strings.Repeat("é", 39) + "…, is not between 1 and 1048576"},
	} {
		at := &text{Reading: &Reading{Source: Source{File: "f"}}, number: 7}
		err := at.declare([]byte(c.spins), []byte(c.pairs), []byte(c.linear))
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{c.spins, c.pairs, c.linear, "7"}, strings.Fields(fmt.Sprint(at.spins, at.pairs, at.linear, at.headerLine)))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 200 { // names in order, with more or fewer gaps
		names := []int{r.IntN(3)}
		for len(names) < 1+n/20 {
			names = append(names, names[len(names)-1]+1+r.IntN(4)/3)
		}
		q := newQuadratic(names, VartypeSpin)
		for name := -1; name < names[len(names)-1]+3; name++ {
			index, ok := q.at(name)
			require.Equal(t, slices.Contains(names, name), ok)
			if ok {
				require.Equal(t, slices.Index(names, name), index)
			}
		}
		for _, first := range []int{0, 1} {
			q := newQuadratic(names, VartypeSpin)
			q.first = first
			labels := q.hamiltonian().Labels
			if names[0] == first && names[len(names)-1] == first+len(names)-1 {
				require.Nil(t, labels)
			} else {
				require.Equal(t, strings.Fields(strings.Trim(fmt.Sprint(names), "[]")), labels)
			}
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "glass.txt")
	g := build(t, cubicGlass(4, 1))
	require.NoError(t, os.WriteFile(path, []byte(writeRudy(g)), 0o600))
	r, err := Source{File: path}.Read()
	require.NoError(t, err)
	require.Equal(t, g.Hash(), r.Graph.Hash())
	_, err = Source{File: dir}.Read()
	require.EqualError(t, err, dir+": is a directory; a regular file is needed")
	_, err = Source{File: path + "x"}.Read()
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Source{}.Read()
	require.EqualError(t, err, "file: is empty; name a file")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(MaxFile+1))
	require.NoError(t, file.Close())
	_, err = Source{File: path}.Read()
	require.EqualError(t, err, path+": longer than 536870912 bytes, which such a file never is")
}

// FuzzParse: whatever the bytes are, there is an error that names the file or a
// key, or a graph that the resolved source reads again.
func FuzzParse(f *testing.F) {
	small, err := NewGraph(ring(4, -1))
	if err != nil {
		f.Fatal(err)
	}
	qubo, _ := writeQUBO(small)
	for _, text := range []string{
		writeRevGen(small), writeRudy(small), writeCOO(small), qubo, writeBQP(small, "spin", 2), writeBQP(small, "boolean", 1),
		"", "2 1\n1 2 1e-3\n", "# vartype=BINARY\n5 9 -.5\n", "p qubo 0 1 1 0\n0 0 1", "{", "1 0\n", "\xff\xfe", `{"spins": 1, "labels": ["a"]}`,
	} {
		for k := range 6 {
			f.Add([]byte(text), uint8(k))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, named uint8) {
		s := Source{File: "f"}
		if k := int(named) % 6; k > 0 {
			s.Format = Format(Formats[k-1])
		}
		r, err := s.Parse(data)
		if err != nil {
			require.Regexp(t, "^(f[:,]|sign:|vartype:)", err.Error())
			return
		}
		h := r.Graph.Hamiltonian()
		require.NoError(t, h.Validate())
		again, err := r.Source.Parse(data)
		require.NoError(t, err)
		require.Equal(t, r.Graph.Hash(), again.Graph.Hash())
		if r.Graph.N() < 1<<10 {
			back, err := Source{File: "f"}.Parse([]byte(writeRevGen(r.Graph)))
			require.NoError(t, err)
			require.Equal(t, r.Graph.Hash(), back.Graph.Hash())
			require.NotEmpty(t, r.String())
		}
	})
}

func FuzzEdge(f *testing.F) {
	for _, s := range []string{"[0,1,2]", "[0, 1, -1e-3]", "[", "[]", "[1,1,1,]", " [ 3 , 4 , 5 ] "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var e, again Edge
		if e.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		b, err := json.Marshal(e)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, e, again)
	})
}

func BenchmarkParse(b *testing.B) {
	g, err := NewGraph(sparse(10_000, 100_000, 1, normal))
	if err != nil {
		b.Fatal(err)
	}
	qubo, _ := writeQUBO(g)
	for _, c := range []struct{ name, text string }{
		{"revgen", writeRevGen(g)}, {"rudy", writeRudy(g)}, {"coo", writeCOO(g)}, {"qubo", qubo}, {"bqpjson", writeBQP(g, "spin", 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if _, err := (Source{File: "f", Format: Format(c.name)}).Parse([]byte(c.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
