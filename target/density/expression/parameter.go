package expression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A Parameter is a constant of an expression: in JSON a number, a list of numbers,
// which is a vector, or a list of lists of equal length, which is a matrix. Its zero
// value is written as the number 0.
type Parameter struct {
	values  []float64 // of a matrix row by row
	vector  bool
	columns int // of a matrix, 0 for a number or a vector
}

// Number returns a number.
func Number(x float64) Parameter { return Parameter{values: []float64{x}} }

// Vector returns a vector.
func Vector(x ...float64) Parameter { return Parameter{values: x, vector: true} }

// Matrix returns a matrix of rows of equal length.
func Matrix(rows ...[]float64) (Parameter, error) {
	p := Parameter{values: slices.Concat(rows...)}
	for i, row := range rows {
		if p.columns = len(rows[0]); len(row) != p.columns {
			return Parameter{}, fmt.Errorf("row %d has %d numbers, and the first has %d", i, len(row), p.columns)
		}
	}
	return p, p.Validate()
}

// Validate reports a parameter that is empty or too long.
func (p Parameter) Validate() error {
	if n := len(p.values); n == 0 || n > maxLength {
		return fmt.Errorf("%d numbers; there may be 1 to %d", n, maxLength)
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Parameter) UnmarshalJSON(text []byte) error {
	if bytes.Contains(text, []byte("null")) {
		return errors.New("null is no number")
	}
	var number float64
	if json.Unmarshal(text, &number) == nil {
		*p = Number(number)
		return nil
	}
	var vector []float64
	if json.Unmarshal(text, &vector) == nil && len(vector) > 0 {
		*p = Vector(vector...)
		return p.Validate()
	}
	var matrix [][]float64
	if err := json.Unmarshal(text, &matrix); err != nil || len(matrix) == 0 {
		return errors.New("not a number, nor a list of numbers, nor a list of lists of numbers")
	}
	var err error
	*p, err = Matrix(matrix...)
	return err
}

// MarshalJSON implements json.Marshaler.
func (p Parameter) MarshalJSON() ([]byte, error) {
	switch {
	case p.columns > 0:
		return json.Marshal(slices.Collect(slices.Chunk(p.values, p.columns)))
	case p.vector:
		return json.Marshal(p.values)
	case len(p.values) == 0:
		return []byte("0"), nil
	}
	return json.Marshal(p.values[0])
}
