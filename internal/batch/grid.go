package batch

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/ndjson"
)

// An axis is the values of a grid's key: those of a list, or of a range.
type axis struct {
	key         string
	n           int
	values      []ndjson.Value // of a list
	first, step *big.Rat       // of a range
	digits      int            // of its decimals
}

func newAxis(m ndjson.Member) (axis, error) {
	switch v := m.Value; v.Kind {
	case ndjson.List:
		if len(v.Items) == 0 {
			return axis{}, errors.New("the list is empty")
		}
		return axis{key: m.Key, n: len(v.Items), values: v.Items}, nil
	case ndjson.String:
		return span(m.Key, v.Text)
	default:
		return axis{}, fmt.Errorf("%s where a list or a range first:last:step is needed", v.Kind)
	}
}

// at returns value i.
func (a *axis) at(i int) ndjson.Value {
	if a.values != nil {
		return a.values[i]
	}
	x := new(big.Rat).SetInt64(int64(i))
	return crash.Must(ndjson.Number(x.Add(a.first, x.Mul(x, a.step)).FloatString(a.digits))) // as both ends of the range are
}

// Axis returns the values of a grid's key: a list, or a range.
func Axis(v ndjson.Value) (all []ndjson.Value, err error) {
	a, err := newAxis(ndjson.Member{Value: v})
	for i := range a.n {
		all = append(all, a.at(i))
	}
	return all, err
}

// ParseGrid reads key=first:last:step or key=a,b,c.
func ParseGrid(text string) (ndjson.Member, error) {
	key, values, ok := strings.Cut(text, "=")
	if !ok || key == "" || values == "" {
		return ndjson.Member{}, fmt.Errorf("%q is not key=first:last:step or key=a,b,c", text)
	}
	m := ndjson.Member{Key: strings.TrimSpace(key)}
	if strings.Count(values, ":") == 2 {
		m.Value = ndjson.Value{Kind: ndjson.String, Text: values}
		_, err := newAxis(m)
		return m, err
	}
	m.Value.Kind = ndjson.List
	for item := range strings.SplitSeq(values, ",") {
		m.Value.Items = append(m.Value.Items, word(strings.TrimSpace(item)))
	}
	return m, nil
}

// word is the JSON value that a text is, or a string.
func word(text string) ndjson.Value {
	line, v, err := ndjson.NewReader(strings.NewReader("["+text+"]"), lineLimits).Next()
	if err != nil || line != 1 || len(v.Items) != 1 {
		return ndjson.Value{Kind: ndjson.String, Text: text}
	}
	return v.Items[0]
}

// span is a range first:last:step, in decimal arithmetic: the last is in it if it is a
// whole number of steps away.
func span(key, text string) (axis, error) {
	parts := strings.Split(text, ":")
	var x [3]*big.Rat
	a := axis{key: key}
	for i, part := range parts {
		part = strings.TrimSpace(part)
		mantissa, _, scaled := strings.Cut(strings.ToLower(part), "e")
		var ok bool
		if len(parts) != 3 || len(part) > 40 || scaled || strings.Contains(part, "/") {
			return axis{}, notRange(text)
		}
		if x[i], ok = new(big.Rat).SetString(part); !ok {
			return axis{}, notRange(text)
		}
		if _, decimals, found := strings.Cut(mantissa, "."); found {
			a.digits = max(a.digits, len(decimals))
		}
	}
	first, last, step := x[0], x[1], x[2]
	length := new(big.Rat).Sub(last, first)
	if step.Sign() == 0 || length.Sign()*step.Sign() < 0 {
		return axis{}, fmt.Errorf("%q never gets from %s to %s", text, parts[0], parts[1])
	}
	steps := new(big.Rat).Quo(length, step)
	n := new(big.Int).Quo(steps.Num(), steps.Denom())
	if !n.IsInt64() || n.Int64() >= mostJobs {
		return axis{}, fmt.Errorf("%q has more than %d values", text, mostJobs)
	}
	for _, end := range []*big.Rat{first, last} {
		if _, err := ndjson.Number(end.FloatString(a.digits)); err != nil {
			return axis{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	a.first, a.step, a.n = first, step, int(n.Int64())+1
	return a, nil
}

func notRange(text string) error {
	return fmt.Errorf("%q is not a range first:last:step of decimal numbers, which have no exponents", text)
}
