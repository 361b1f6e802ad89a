package batch

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/revgen/revgen/internal/ndjson"
)

// Axis returns the values of a grid's key, which are a list or a range.
func Axis(v ndjson.Value) ([]ndjson.Value, error) {
	switch v.Kind {
	case ndjson.List:
		if len(v.Items) == 0 {
			return nil, errors.New("the list is empty")
		}
		return v.Items, nil
	case ndjson.String:
		return rangeValues(v.Text)
	}
	return nil, fmt.Errorf("%s where a list or a range first:last:step is needed", v.Kind)
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
		_, err := Axis(m.Value)
		return m, err
	}
	m.Value.Kind = ndjson.List
	for item := range strings.SplitSeq(values, ",") {
		m.Value.Items = append(m.Value.Items, parseWord(strings.TrimSpace(item)))
	}
	return m, nil
}

// parseWord returns the JSON value that text is, or else text as a string.
func parseWord(text string) ndjson.Value {
	v, err := ndjson.Parse([]byte("["+text+"]"), lineLimits.Depth)
	if err != nil || len(v.Items) != 1 {
		return ndjson.Value{Kind: ndjson.String, Text: text}
	}
	return v.Items[0]
}

// rangeValues returns the values of a range first:last:step, computed in decimal arithmetic. last
// is among them if it is a whole number of steps away.
func rangeValues(text string) ([]ndjson.Value, error) {
	parts := strings.Split(text, ":")
	var bounds [3]*big.Rat
	digits := 0
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if len(parts) != 3 || len(part) > 40 || strings.ContainsAny(part, "eE/") {
			return nil, notRange(text)
		}
		var ok bool
		if bounds[i], ok = new(big.Rat).SetString(part); !ok {
			return nil, notRange(text)
		}
		if _, decimals, found := strings.Cut(part, "."); found {
			digits = max(digits, len(decimals))
		}
	}
	value, last, step := bounds[0], bounds[1], bounds[2]
	length := new(big.Rat).Sub(last, value)
	if step.Sign() == 0 || length.Sign()*step.Sign() < 0 {
		return nil, fmt.Errorf("%q never gets from %s to %s", text, parts[0], parts[1])
	}
	steps := new(big.Rat).Quo(length, step)
	n := new(big.Int).Quo(steps.Num(), steps.Denom())
	if !n.IsInt64() || n.Int64() >= maxJobs {
		return nil, fmt.Errorf("%q has more than %d values", text, maxJobs)
	}
	values := make([]ndjson.Value, n.Int64()+1)
	for i := range values {
		var err error
		if values[i], err = ndjson.Number(value.FloatString(digits)); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		value.Add(value, step)
	}
	return values, nil
}

func notRange(text string) error {
	return fmt.Errorf("%q is not a range first:last:step of decimal numbers, which have no exponents", text)
}
