package spins

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/conf"
)

// bqp is a file of the format bqpjson. Numbers that must not be missing are pointers.
type bqp struct {
	Version     json.RawMessage `json:"version"`
	ID          json.RawMessage `json:"id"`
	Metadata    json.RawMessage `json:"metadata"`
	Description json.RawMessage `json:"description"`
	Solutions   json.RawMessage `json:"solutions"`

	Domain    string      `json:"variable_domain"`
	Variables []int       `json:"variable_ids"`
	Scale     *float64    `json:"scale"`
	Offset    *float64    `json:"offset"`
	Linear    []bqpLinear `json:"linear_terms"`
	Quadratic []bqpPair   `json:"quadratic_terms"`
}

type bqpLinear struct {
	ID    *int     `json:"id"`
	Coeff *float64 `json:"coeff"`
}

type bqpPair struct {
	Tail  *int     `json:"id_tail"`
	Head  *int     `json:"id_head"`
	Coeff *float64 `json:"coeff"`
}

// parseBQP reads the format bqpjson.
func (r *Reading) parseBQP(data []byte) (*Hamiltonian, error) {
	var b bqp
	if err := conf.Decode(data, r.File, &b); err != nil {
		return nil, err
	}
	fail := func(path, format string, args ...any) error {
		return conf.At(data, r.File, path, fmt.Errorf(format, args...))
	}
	switch b.Domain {
	case "spin":
		r.variables = VartypeSpin
	case "boolean":
		r.variables = VartypeBinary
	default:
		return nil, fail("variable_domain", "%q is neither spin nor boolean", b.Domain)
	}
	switch {
	case b.Scale == nil:
		return nil, fail("scale", "is missing")
	case b.Offset == nil:
		return nil, fail("offset", "is missing")
	case len(b.Variables) == 0:
		return nil, fail("variable_ids", "names no variable")
	case len(b.Variables) > MaxSpins:
		return nil, fail("variable_ids", "%d variables are more than %d", len(b.Variables), MaxSpins)
	}
	names := slices.Sorted(slices.Values(b.Variables))
	for k, i := range b.Variables {
		if i < 0 || i > math.MaxInt32 {
			return nil, fail(fmt.Sprintf("variable_ids[%d]", k), "%d is not the number of a variable", i)
		}
	}
	for k := 1; k < len(names); k++ {
		if names[k] == names[k-1] {
			return nil, fail("variable_ids", "%d stands here twice", names[k])
		}
	}
	q := newQuadratic(names, r.variables)
	q.scale, q.offset = *b.Scale, *b.Offset
	checkTerm := func(path string, coeff *float64, ids ...*int) error {
		for _, id := range ids {
			if id == nil {
				return fail(path, "a number of a variable is missing")
			}
			if _, ok := q.at(*id); !ok {
				return fail(path, "variable %d is not among variable_ids", *id)
			}
		}
		if coeff == nil {
			return fail(path, "coeff is missing")
		}
		return nil
	}
	for k, t := range b.Linear {
		path := fmt.Sprintf("linear_terms[%d]", k)
		if err := checkTerm(path, t.Coeff, t.ID); err != nil {
			return nil, err
		}
		if !q.linear(*t.ID, *t.Coeff) {
			return nil, fail(path, "variable %d has its second linear term; write one", *t.ID)
		}
	}
	for k, t := range b.Quadratic {
		path := fmt.Sprintf("quadratic_terms[%d]", k)
		if err := checkTerm(path, t.Coeff, t.Tail, t.Head); err != nil {
			return nil, err
		}
		if *t.Tail == *t.Head {
			return nil, fail(path, "variable %d is coupled to itself", *t.Tail)
		}
		q.pair(*t.Tail, *t.Head, *t.Coeff)
	}
	h := q.hamiltonian()
	if f := h.check(); f != nil {
		if f.first >= 0 {
			return nil, fail(fmt.Sprintf("quadratic_terms[%d]", f.index), "variables %d and %d are coupled for the second time, first by quadratic_terms[%d]; write one term",
				names[f.i], names[f.j], f.first)
		}
		return nil, fmt.Errorf("%s: %w", r.File, f.error())
	}
	return h, nil
}
