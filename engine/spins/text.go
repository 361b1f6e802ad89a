package spins

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// A term is a line "i j w", its spins numbered as in the file.
type term struct {
	Edge
	line int
}

// text is a file of lines that is being read.
type text struct {
	*Reading
	line   []byte
	number int // of the line, from 1
	terms  []term

	// A header declares the numbers of spins, of terms with i = j and of terms with i ≠ j. −1
	// is for unknown.
	spins, linear, pairs int
	headerLine           int
}

func (t *text) fail(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", t.File, line, fmt.Sprintf(format, args...))
}

// parseText reads the formats of lines.
func (r *Reading) parseText(data []byte) (*Hamiltonian, error) {
	t := &text{Reading: r, spins: -1, linear: -1, pairs: -1}
	for line := range bytes.Lines(data) {
		t.line, t.number = bytes.TrimSuffix(line, []byte("\n")), t.number+1
		if err := t.read(); err != nil {
			return nil, err
		}
	}
	if err := t.complete(); err != nil {
		return nil, err
	}
	return t.hamiltonian()
}

var vartypeHeader = regexp.MustCompile(`(?m)^[ \t\f]*#.*?vartype[:=][ \t]*([-_.a-zA-Z0-9]+)`)

// read reads a line.
func (t *text) read() error {
	fields := bytes.Fields(t.line)
	comment := byte('#')
	if t.Format == QUBO {
		comment = 'c'
	}
	switch {
	case len(fields) == 0:
		return nil
	case fields[0][0] == comment:
		return t.comment()
	case t.Format == QUBO && t.spins < 0:
		return t.quboHeader(fields)
	case t.Format == Rudy && t.spins < 0:
		return t.rudyHeader(fields)
	case len(fields) != 3:
		return t.fail(t.number, "%s where a line is \"i j w\", two numbers of spins and a weight", shorten(strconv.Quote(string(t.line))))
	}
	e, err := parseEdge(string(fields[0]), string(fields[1]), string(fields[2]))
	if err != nil {
		return t.fail(t.number, "%v", err)
	}
	first := 0
	if t.Format == Rudy {
		first = 1
		if e.I == e.J {
			return t.fail(t.number, "spin %d is coupled to itself; an edge joins two spins", e.I)
		}
	}
	if t.spins >= 0 {
		for _, i := range [2]int{e.I, e.J} {
			if i < first || i >= first+t.spins {
				return t.fail(t.number, "there is no spin %d; by line %d they are %d to %d", i, t.headerLine, first, first+t.spins-1)
			}
		}
	}
	if len(t.terms) == MaxEdges+MaxSpins {
		return t.fail(t.number, "more than %d lines", MaxEdges+MaxSpins)
	}
	t.terms = append(t.terms, term{e, t.number})
	return nil
}

// comment reads the type of the variables, if a comment of COO tells it.
func (t *text) comment() error {
	m := vartypeHeader.FindSubmatch(t.line)
	if t.Format != COO || m == nil {
		return nil
	}
	v := Vartype(strings.ToLower(string(m[1])))
	switch {
	case v != VartypeSpin && v != VartypeBinary:
		return t.fail(t.number, "vartype %s is neither SPIN nor BINARY", m[1])
	case t.Vartype != "" && t.Vartype != v:
		return t.fail(t.number, "vartype is %s here and was %s before", v, t.Vartype)
	}
	t.Vartype = v
	return nil
}

func (t *text) rudyHeader(fields [][]byte) error {
	if len(fields) != 2 {
		return t.fail(t.number, "%s where the first line is \"n m\", the numbers of spins and of edges", shorten(strconv.Quote(string(t.line))))
	}
	return t.declare(fields[0], fields[1], nil)
}

func (t *text) quboHeader(f [][]byte) error {
	if len(f) != 6 || string(f[0]) != "p" || string(f[1]) != "qubo" {
		return t.fail(t.number, "%s where a line \"p qubo 0 size linear quadratic\" is needed", shorten(strconv.Quote(string(t.line))))
	}
	return t.declare(f[3], f[5], f[4])
}

// declare reads the numbers of a header.
func (t *text) declare(spins, pairs, linear []byte) (err error) {
	t.headerLine = t.number
	for _, n := range []struct {
		dst       *int
		text      []byte
		noun      string
		low, high int
	}{{&t.spins, spins, "spins", 1, MaxSpins}, {&t.pairs, pairs, "edges", 0, MaxEdges}, {&t.linear, linear, "linear terms", 0, MaxSpins}} {
		if n.text == nil {
			continue
		}
		if *n.dst, err = strconv.Atoi(string(n.text)); err != nil || *n.dst < n.low || *n.dst > n.high {
			return t.fail(t.number, "the number of %s, %s, is not between %d and %d", n.noun, shorten(string(n.text)), n.low, n.high)
		}
	}
	return nil
}

// complete checks the file as a whole, and sets what its variables are.
func (t *text) complete() error {
	linear := 0
	for _, e := range t.terms {
		if e.I == e.J {
			linear++
		}
	}
	pairs := len(t.terms) - linear
	switch {
	case t.Format == COO && t.Vartype == "":
		return fmt.Errorf("%s: does not say what its variables are; set vartype to spin or binary, or begin it with the line \"# vartype=SPIN\"", t.File)
	case t.Format != COO && t.spins < 0:
		return fmt.Errorf("%s: holds nothing but comments", t.File)
	case len(t.terms) == 0 && t.Format != Rudy:
		return fmt.Errorf("%s: names no variable", t.File)
	case t.pairs >= 0 && pairs != t.pairs:
		return t.fail(t.headerLine, "announces %s, but there are %d", number.Count(t.pairs, "edge"), pairs)
	case t.linear >= 0 && linear != t.linear:
		return t.fail(t.headerLine, "announces %s, but there are %d", number.Count(t.linear, "linear term"), linear)
	}
	switch t.Format {
	case Rudy:
		t.variables = VartypeSpin
	case QUBO:
		t.variables = VartypeBinary
	default:
		t.variables = t.Vartype
	}
	if t.Sign == "" && t.Format != QUBO {
		t.Sign = SignEnergy
	}
	return nil
}

// hamiltonian builds the energy. Rudy's spins are those that it announces; in the
// other formats they are those that some line names, in ascending order, with
// their numbers for labels unless these are 0 … n−1.
func (t *text) hamiltonian() (*Hamiltonian, error) {
	var names []int
	if t.Format == Rudy {
		names = lists.Range(1, t.spins+1)
	} else {
		for _, e := range t.terms {
			names = append(names, e.I, e.J)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	q := newQuadratic(names, t.variables)
	if t.Format == Rudy {
		q.first = 1
	}
	if t.Sign == SignCoupling {
		q.scale = -1
	}
	var lines []int // of edges
	for _, e := range t.terms {
		if e.I != e.J {
			lines = append(lines, e.line)
			q.pair(e.I, e.J, e.Coupling)
			continue
		}
		if !q.linear(e.I, e.Coupling) {
			first := slices.IndexFunc(t.terms, func(o term) bool { return o.I == e.I && o.J == e.I })
			return nil, t.fail(e.line, "variable %d has its second linear term, after that of line %d; write one", e.I, t.terms[first].line)
		}
	}
	h := q.hamiltonian()
	if f := h.check(); f != nil {
		if f.first >= 0 {
			return nil, t.fail(lines[f.index], "spins %d and %d are coupled for the second time, first in line %d; write one edge",
				names[f.i], names[f.j], lines[f.first])
		}
		return nil, fmt.Errorf("%s: %w", t.File, f.error())
	}
	return h, nil
}

// A quadratic is a polynomial scale·(Σ w u u + Σ w u + offset), an energy, of
// variables u that are spins or binary.
type quadratic struct {
	scale, offset float64
	binary        bool

	names     []int  // of the variables in the file, ascending
	first     int    // without labels, the variables' names are first, first+1, …
	hasLinear []bool // by variable
	h         *Hamiltonian
}

func newQuadratic(names []int, v Vartype) *quadratic {
	return &quadratic{
		scale: 1, binary: v == VartypeBinary,
		names: names, hasLinear: make([]bool, len(names)),
		h: &Hamiltonian{Spins: len(names), Fields: make([]float64, len(names))},
	}
}

func (q *quadratic) at(name int) (index int, ok bool) {
	if i := name - q.names[0]; i >= 0 && i < len(q.names) && q.names[i] == name { // names are often consecutive
		return i, true
	}
	return slices.BinarySearch(q.names, name)
}

// pair adds w·u_i·u_j.
func (q *quadratic) pair(i, j int, w float64) {
	a, _ := q.at(i)
	b, _ := q.at(j)
	q.h.Edges = append(q.h.Edges, Edge{a, b, w})
}

// linear adds w·u_i, unless i has a linear term.
func (q *quadratic) linear(i int, w float64) bool {
	a, _ := q.at(i)
	if q.hasLinear[a] {
		return false
	}
	q.hasLinear[a] = true
	q.h.Fields[a] = w
	return true
}

// hamiltonian returns −J = scale·w and −h = scale·w for spins. With x = (1 + s)/2,
//
//	w x = w/2 + w/2·s,  w x y = w/4 + w/4·s + w/4·t + w/4·s t.
func (q *quadratic) hamiltonian() *Hamiltonian {
	h := q.h
	h.Offset = q.scale * q.offset
	if q.binary {
		for i, w := range h.Fields {
			h.Offset += q.scale * w / 2
			h.Fields[i] = w / 2
		}
		for k, e := range h.Edges {
			h.Offset += q.scale * e.Coupling / 4
			h.Fields[e.I] += e.Coupling / 4
			h.Fields[e.J] += e.Coupling / 4
			h.Edges[k].Coupling = e.Coupling / 4
		}
	}
	for i := range h.Fields {
		h.Fields[i] = 0 - q.scale*h.Fields[i]
	}
	for k := range h.Edges {
		h.Edges[k].Coupling = 0 - q.scale*h.Edges[k].Coupling
	}
	if n := len(q.names); q.names[0] != q.first || q.names[n-1] != q.first+n-1 {
		h.Labels = make([]string, len(q.names))
		for k, i := range q.names {
			h.Labels[k] = strconv.Itoa(i)
		}
	}
	return h
}
