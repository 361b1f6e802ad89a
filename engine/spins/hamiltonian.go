package spins

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/number"
)

// Limits of what is read and built. They are far beyond what can be sampled well,
// and keep a damaged file from asking for all memory.
const (
	MaxSpins = 1 << 20
	MaxEdges = 1 << 24
)

// A Hamiltonian is the energy of n spins s_i = ±1 as it is written in a file or,
// under the same keys, in a configuration:
//
//	E(s) = −Σ_edges J_ij s_i s_j − Σ_i h_i s_i + offset
//
// Positive couplings J are ferromagnetic, and positive fields h favour spin +1.
//
//	{"spins": 3, "edges": [[0, 1, 1.0], [1, 2, -0.5]], "fields": [0.1, 0, 0], "offset": 2}
type Hamiltonian struct {
	// Spins is their number n; they are numbered from 0.
	Spins int `json:"spins"`
	// Edges are [i, j, J_ij], each pair of spins at most once, in either order.
	Edges []Edge `json:"edges"`
	// Fields are h_0 … h_n−1, or none.
	Fields []float64 `json:"fields,omitempty"`
	// Offset is added to every energy; it changes log Z and no probability.
	Offset float64 `json:"offset,omitempty"`
	// Labels are names of the spins, all different, or none.
	Labels []string `json:"labels,omitempty"`
}

// An Edge couples spins I and J with energy −Coupling·s_I·s_J. In JSON it is
// [I, J, Coupling].
type Edge struct {
	I, J     int
	Coupling float64
}

// MarshalJSON implements json.Marshaler.
func (e Edge) MarshalJSON() ([]byte, error) {
	if math.IsNaN(e.Coupling) || math.IsInf(e.Coupling, 0) {
		return nil, fmt.Errorf("the coupling %v of spins %d and %d is not finite", e.Coupling, e.I, e.J)
	}
	b := strconv.AppendInt([]byte{'['}, int64(e.I), 10)
	b = strconv.AppendInt(append(b, ','), int64(e.J), 10)
	b = strconv.AppendFloat(append(b, ','), e.Coupling, 'g', -1, 64)
	return append(b, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Edge) UnmarshalJSON(text []byte) error {
	const want = "an edge is [i, j, J], two numbers of spins and their coupling"
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return fmt.Errorf("%s where %s", shorten(string(text)), want)
	}
	var parts [3]string
	rest := string(text[1 : len(text)-1])
	for k := range parts {
		part, tail, comma := strings.Cut(rest, ",")
		if comma != (k < 2) {
			return fmt.Errorf("%s where %s", shorten(string(text)), want)
		}
		parts[k], rest = strings.TrimSpace(part), tail
	}
	read, err := parseEdge(parts[0], parts[1], parts[2])
	if err == nil {
		*e = read
	}
	return err
}

func parseEdge(i, j, coupling string) (e Edge, err error) {
	if e.I, err = parseIndex(i); err == nil {
		if e.J, err = parseIndex(j); err == nil {
			e.Coupling, err = parseNumber(coupling)
		}
	}
	return e, err
}

// parseIndex reads the number of a spin.
func parseIndex(s string) (int, error) {
	i, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s is not the number of a spin", shorten(strconv.Quote(s)))
	}
	return int(i), nil
}

// parseNumber reads a finite decimal number that is not too small to be told
// from 0. Exponents are accepted.
func parseNumber(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	switch decimal := strings.Trim(s, "+-.0123456789eE") == ""; {
	case !decimal, err != nil && !math.IsInf(x, 0):
		return 0, fmt.Errorf("%s is not a finite number", shorten(strconv.Quote(s)))
	case err != nil:
		return 0, fmt.Errorf("%s is too large for a float64", shorten(s))
	case x == 0:
		mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
		if strings.ContainsAny(mantissa, "123456789") {
			return 0, fmt.Errorf("%s is too small for a float64; write 0", shorten(s))
		}
	}
	return x, nil
}

// shorten cuts a text that an error quotes to 40 characters.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// A flaw is what makes a Hamiltonian unusable, and where.
type flaw struct {
	key    string // "edges", "fields", …
	index  int    // in the list, −1 for none
	i, j   int    // spins of a repeated edge
	first  int    // the edge that it repeats, −1 for other flaws
	reason string // "" for a repeated edge
}

// path names the place as a configuration does.
func (f *flaw) path() string {
	if f.index < 0 {
		return f.key
	}
	return fmt.Sprintf("%s[%d]", f.key, f.index)
}

func (f *flaw) error() error {
	if f.first >= 0 {
		return fmt.Errorf("%s: spins %d and %d are coupled for the second time, first by edges[%d]; write one edge", f.path(), f.i, f.j, f.first)
	}
	return fmt.Errorf("%s: %s", f.path(), f.reason)
}

// Validate reports the first thing that makes the Hamiltonian unusable; the error
// begins with its key.
func (h *Hamiltonian) Validate() error {
	if f := h.check(); f != nil {
		return f.error()
	}
	return nil
}

func (h *Hamiltonian) check() *flaw {
	flawAt := func(key string, index int, format string, args ...any) *flaw {
		return &flaw{key: key, index: index, first: -1, reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case h.Spins < 1 || h.Spins > MaxSpins:
		return flawAt("spins", -1, "%d is not between 1 and %d", h.Spins, MaxSpins)
	case len(h.Edges) > MaxEdges:
		return flawAt("edges", -1, "%d edges are more than %d", len(h.Edges), MaxEdges)
	case len(h.Fields) != 0 && len(h.Fields) != h.Spins:
		return flawAt("fields", -1, "%d numbers for %d spins", len(h.Fields), h.Spins)
	case len(h.Labels) != 0 && len(h.Labels) != h.Spins:
		return flawAt("labels", -1, "%d names for %d spins", len(h.Labels), h.Spins)
	case !number.Finite(h.Offset):
		return flawAt("offset", -1, "%v is not finite", h.Offset)
	}
	largest := math.Abs(h.Offset)
	for k, e := range h.Edges {
		switch {
		case e.I < 0 || e.I >= h.Spins:
			return flawAt("edges", k, "there is no spin %d; the spins are 0 to %d", e.I, h.Spins-1)
		case e.J < 0 || e.J >= h.Spins:
			return flawAt("edges", k, "there is no spin %d; the spins are 0 to %d", e.J, h.Spins-1)
		case e.I == e.J:
			return flawAt("edges", k, "spin %d is coupled to itself; s² = 1 belongs into the offset", e.I)
		case !number.Finite(e.Coupling):
			return flawAt("edges", k, "the coupling %v is not finite", e.Coupling)
		}
		largest += math.Abs(e.Coupling)
	}
	for i, x := range h.Fields {
		if !number.Finite(x) {
			return flawAt("fields", i, "%v is not finite", x)
		}
		largest += math.Abs(x)
	}
	if !(largest <= math.MaxFloat64/16) {
		return flawAt("edges", -1, "energies reach %.3g, which float64 does not hold", largest)
	}
	seen := make(map[string]int, len(h.Labels))
	for i, s := range h.Labels {
		if s == "" {
			return flawAt("labels", i, "is empty")
		}
		if j, again := seen[s]; again {
			return flawAt("labels", i, "%q is already the name of spin %d", s, j)
		}
		seen[s] = i
	}
	return h.repeated()
}

// repeated finds the first edge that couples the same spins as an earlier one.
func (h *Hamiltonian) repeated() *flaw {
	order := h.sorted()
	var found *flaw
	for k := 1; k < len(order); k++ {
		a, b := h.Edges[order[k-1]], h.Edges[order[k]] // in the order of the list, if they couple the same spins
		if min(a.I, a.J) == min(b.I, b.J) && max(a.I, a.J) == max(b.I, b.J) && (found == nil || int(order[k]) < found.index) {
			found = &flaw{key: "edges", index: int(order[k]), i: b.I, j: b.J, first: int(order[k-1])}
		}
	}
	return found
}

// sorted returns the numbers of the edges in the order of their smaller spin, then of their
// larger one, then of the numbers.
func (h *Hamiltonian) sorted() []int32 {
	const spinBits, edgeBits = 20, 24 // of MaxSpins and MaxEdges: 64 in all
	keys, order := make([]uint64, len(h.Edges)), make([]int32, len(h.Edges))
	for k, e := range h.Edges {
		keys[k] = (uint64(min(e.I, e.J))<<spinBits|uint64(max(e.I, e.J)))<<edgeBits | uint64(k)
	}
	slices.Sort(keys)
	for i, key := range keys {
		order[i] = int32(key & (MaxEdges - 1))
	}
	return order
}
