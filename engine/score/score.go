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

	target engine.Scorer
	names  []string      // of its scores
	model  engine.Scorer // nil if the density of no model is known
	params []float32
	from   []int // of each column: of the scores, or one of those below

	energies, values, modelled, modelValues []float64
}

const (
	fromEnergy = -1 - iota
	fromDensity
	fromModel
	fromWeight
)

// NewJudge returns a judge of a target's states. model may be nil; params are its own.
func NewJudge(target, model engine.Scorer, params []float32) *Judge {
	j := &Judge{target: target, names: target.Observables(), params: params}
	j.add(Energy, fromEnergy)
	j.add(LogDensity, fromDensity)
	for i, name := range j.names {
		if name != engine.LogWeight && !slices.Contains(j.Columns, name) {
			j.add(name, i)
		}
	}
	if model != nil && slices.Contains(model.Observables(), engine.LogWeight) {
		j.model = model
		j.add(LogModel, fromModel)
		j.add(engine.LogWeight, fromWeight)
	}
	return j
}

func (j *Judge) add(name string, from int) {
	j.Columns, j.from = append(j.Columns, name), append(j.from, from)
}

// HasModel reports whether the model's density is among the columns.
func (j *Judge) HasModel() bool { return j.model != nil }

// Keep drops all columns but those of the given names, in that order.
func (j *Judge) Keep(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("names none of %s", strings.Join(j.Columns, ", "))
	}
	var from []int
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return fmt.Errorf("names %s twice", name)
		}
		i := slices.Index(j.Columns, name)
		if i < 0 {
			return fmt.Errorf("%q is not one of %s", name, strings.Join(j.Columns, ", "))
		}
		from = append(from, j.from[i])
	}
	j.Columns, j.from = slices.Clone(names), from
	return nil
}

// Score sets table, [n][columns], to what n states of a format have, and returns it; it is
// good until the next call.
func (j *Judge) Score(table []float64, format string, states []byte, n int) ([]float64, error) {
	table = sized(table, n*len(j.Columns))
	needs := func(some ...int) bool {
		return slices.ContainsFunc(j.from, func(from int) bool { return slices.Contains(some, from) })
	}
	var beta float64
	var err error
	if needs(fromEnergy, fromDensity, fromWeight) {
		j.energies = sized(j.energies, n)
		if beta, err = j.target.Energies(j.energies, format, states); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(j.from, func(from int) bool { return from >= 0 }) {
		j.values = sized(j.values, n*len(j.names))
		if err := j.target.Score(j.values, nil, format, states); err != nil {
			return nil, err
		}
	}
	if needs(fromModel, fromWeight) {
		if err := j.logModel(format, states, n); err != nil {
			return nil, err
		}
	}
	for k, from := range j.from {
		value := func(i int) float64 { return j.values[i*len(j.names)+from] }
		switch from {
		case fromEnergy:
			value = func(i int) float64 { return j.energies[i] }
		case fromDensity:
			value = func(i int) float64 { return logDensity(beta, j.energies[i]) }
		case fromModel:
			value = func(i int) float64 { return j.modelled[i] }
		case fromWeight:
			value = func(i int) float64 { return logDensity(beta, j.energies[i]) - j.modelled[i] }
		}
		for i := range n {
			table[i*len(j.from)+k] = value(i)
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
