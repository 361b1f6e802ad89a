// Package score evaluates states of a system that come from anywhere: it reads them in any layout
// from lines of JSON, arrays or memory as it stands, in constant memory, and writes tables of
// columns as lines of JSON, CSV or arrays.
package score

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
)

// Names of the columns that do not come from a system's Observables.
const (
	Energy     = "energy"
	LogDensity = "log_density"
	LogModel   = "log_model"
)

// A Judge scores states of a target, and of a model if one is given.
type Judge struct {
	Columns []string

	target  engine.Scorer
	model   engine.Scorer // nil if the density of no model is known
	params  []float32
	columns []column
	beta    float64

	energies, values, modelled, modelValues []float64
}

// A column is a number of state i, of what is known of all states by then.
type column struct {
	of    known
	value func(i int) float64
}

type known uint8

const (
	energies known = 1 << iota
	values
	modelled
)

// NewJudge returns a judge of a target's states. model may be nil; params are its own.
func NewJudge(target, model engine.Scorer, params []float32) *Judge {
	j := &Judge{target: target, params: params}
	density := func(i int) float64 { return logDensity(j.beta, j.energies[i]) }
	j.add(Energy, energies, func(i int) float64 { return j.energies[i] })
	j.add(LogDensity, energies, density)
	names := target.Observables()
	for k, name := range names {
		if name != engine.LogWeight && !slices.Contains(j.Columns, name) {
			j.add(name, values, func(i int) float64 { return j.values[i*len(names)+k] })
		}
	}
	if model != nil && slices.Contains(model.Observables(), engine.LogWeight) {
		j.model = model
		j.add(LogModel, modelled, func(i int) float64 { return j.modelled[i] })
		j.add(engine.LogWeight, energies|modelled, func(i int) float64 { return density(i) - j.modelled[i] })
	}
	return j
}

func (j *Judge) add(name string, of known, value func(i int) float64) {
	j.Columns, j.columns = append(j.Columns, name), append(j.columns, column{of, value})
}

// HasModel reports whether the model's density is among the columns.
func (j *Judge) HasModel() bool { return j.model != nil }

// Keep drops all columns but those of the given names, in that order.
func (j *Judge) Keep(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("names none of %s", strings.Join(j.Columns, ", "))
	}
	var kept []column
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return fmt.Errorf("names %s twice", name)
		}
		i := slices.Index(j.Columns, name)
		if i < 0 {
			return fmt.Errorf("%q is not one of %s", name, strings.Join(j.Columns, ", "))
		}
		kept = append(kept, j.columns[i])
	}
	j.Columns, j.columns = slices.Clone(names), kept
	return nil
}

// Score sets table, [n][columns], to what n states of a format have, and returns it; it is
// good until the next call.
func (j *Judge) Score(table []float64, format string, states []byte, n int) ([]float64, error) {
	table = sized(table, n*len(j.columns))
	var needed known
	for _, c := range j.columns {
		needed |= c.of
	}
	var err error
	if needed&energies != 0 {
		j.energies = sized(j.energies, n)
		if j.beta, err = j.target.Energies(j.energies, format, states); err != nil {
			return nil, err
		}
	}
	if needed&values != 0 {
		j.values = sized(j.values, n*len(j.target.Observables()))
		if err = j.target.Score(j.values, nil, format, states); err != nil {
			return nil, err
		}
	}
	if needed&modelled != 0 {
		if err = j.logModel(format, states, n); err != nil {
			return nil, err
		}
	}
	for k, c := range j.columns {
		for i := range n {
			table[i*len(j.columns)+k] = c.value(i)
		}
	}
	return table, nil
}

// sized returns room for n numbers, that of x if there is enough.
func sized(x []float64, n int) []float64 { return slices.Grow(x[:0], n)[:n] }

// logDensity is −βE, which is 0 and not −0 at infinite temperature.
func logDensity(beta, energy float64) float64 {
	if beta == 0 && !math.IsInf(energy, 0) {
		return 0
	}
	return 0 - beta*energy
}

// logModel sets modelled to ln q of the model: its weights are of its own target.
func (j *Judge) logModel(format string, states []byte, n int) error {
	stride := len(j.model.Observables())
	j.modelled, j.modelValues = sized(j.modelled, n), sized(j.modelValues, n*stride)
	beta, err := j.model.Energies(j.modelled, format, states)
	if err == nil {
		err = j.model.Score(j.modelValues, j.params, format, states)
	}
	for i := range j.modelled {
		j.modelled[i] = logDensity(beta, j.modelled[i]) - j.modelValues[(i+1)*stride-1]
	}
	return err
}

// Run scores all states of an input, gives rows of the columns to write, and returns how
// many there are.
func Run(ctx context.Context, j *Judge, in *Input, write func(rows []float64) error) (rows int64, err error) {
	var scores []float64
	err = in.Each(func(states []byte, where func(row int) string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		n := len(states) / in.Format.RowBytes
		if scores, err = j.Score(scores, in.Format.Name, states, n); err != nil {
			return j.blame(err, in, states, where, write)
		}
		rows += int64(n)
		return write(scores)
	})
	return rows, err
}

// blame finds the first state that cannot be scored, and writes those before it.
func (j *Judge) blame(err error, in *Input, states []byte, where func(row int) string, write func(rows []float64) error) error {
	row := in.Format.RowBytes
	for i := range len(states) / row {
		scores, bad := j.Score(nil, in.Format.Name, states[i*row:(i+1)*row], 1)
		if bad == nil {
			if err := write(scores); err != nil {
				return err
			}
			continue
		}
		// The state is the only one that it was told of.
		reason := strings.NewReplacer("states: ", "", " of configuration 0", "", " of state 0", "", "configuration 0", "the configuration").Replace(bad.Error())
		return &BadError{Name: in.Label(), Where: where(i), Reason: reason}
	}
	return err
}
