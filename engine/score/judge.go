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
	Columns []string // names of the table's columns

	target  engine.Scorer
	model   engine.Scorer // nil where no density of a model is known
	params  []float32     // the model's
	columns []column

	// Of the states of the last Score:
	beta        float64   // the target's
	energies    []float64 // the target's
	scores      []float64 // the target's observables, [n][observables]
	logModels   []float64 // ln q of the model
	modelScores []float64 // the model's observables
}

// A column computes a number of state i from the quantities that it needs of all states.
type column struct {
	needs quantities
	value func(i int) float64
}

// quantities is a set of what is computed of all states at once.
type quantities uint8

const (
	needsEnergies quantities = 1 << iota
	needsScores
	needsLogModel
)

// NewJudge returns a judge of a target's states. model may be nil; params are the model's.
func NewJudge(target, model engine.Scorer, params []float32) *Judge {
	j := &Judge{target: target, params: params}
	density := func(i int) float64 { return logDensity(j.beta, j.energies[i]) }
	j.add(Energy, needsEnergies, func(i int) float64 { return j.energies[i] })
	j.add(LogDensity, needsEnergies, density)
	names := target.Observables()
	for k, name := range names {
		if name != engine.LogWeight && !slices.Contains(j.Columns, name) {
			j.add(name, needsScores, func(i int) float64 { return j.scores[i*len(names)+k] })
		}
	}
	if model != nil && slices.Contains(model.Observables(), engine.LogWeight) {
		j.model = model
		j.add(LogModel, needsLogModel, func(i int) float64 { return j.logModels[i] })
		j.add(engine.LogWeight, needsEnergies|needsLogModel, func(i int) float64 { return density(i) - j.logModels[i] })
	}
	return j
}

func (j *Judge) add(name string, needs quantities, value func(i int) float64) {
	j.Columns, j.columns = append(j.Columns, name), append(j.columns, column{needs, value})
}

// HasModel reports whether the model's density is known.
func (j *Judge) HasModel() bool { return j.model != nil }

// Select drops all columns but those of the given names, in that order.
func (j *Judge) Select(names []string) error {
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

// Score returns the columns of n states in a format, [n][columns], in table where it has room.
func (j *Judge) Score(table []float64, format string, states []byte, n int) ([]float64, error) {
	table = sized(table, n*len(j.columns))
	var needs quantities
	for _, c := range j.columns {
		needs |= c.needs
	}
	var err error
	if needs&needsEnergies != 0 {
		j.energies = sized(j.energies, n)
		if j.beta, err = j.target.Energies(j.energies, format, states); err != nil {
			return nil, err
		}
	}
	if needs&needsScores != 0 {
		j.scores = sized(j.scores, n*len(j.target.Observables()))
		if err = j.target.Score(j.scores, nil, format, states); err != nil {
			return nil, err
		}
	}
	if needs&needsLogModel != 0 {
		if err = j.scoreModel(format, states, n); err != nil {
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

// sized returns a slice of n numbers, in the memory of x if that suffices.
func sized(x []float64, n int) []float64 { return slices.Grow(x[:0], n)[:n] }

// logDensity returns −βE, which at infinite temperature is 0 and not −0.
func logDensity(beta, energy float64) float64 {
	if beta == 0 && !math.IsInf(energy, 0) {
		return 0
	}
	return 0 - beta*energy
}

// scoreModel sets logModels to ln q = ln π − LogWeight, where π is the model's own target.
func (j *Judge) scoreModel(format string, states []byte, n int) error {
	stride := len(j.model.Observables())
	j.logModels, j.modelScores = sized(j.logModels, n), sized(j.modelScores, n*stride)
	beta, err := j.model.Energies(j.logModels, format, states)
	if err == nil {
		err = j.model.Score(j.modelScores, j.params, format, states)
	}
	for i := range j.logModels {
		j.logModels[i] = logDensity(beta, j.logModels[i]) - j.modelScores[(i+1)*stride-1]
	}
	return err
}

// Run scores all states of an input, passes the rows of their table to write, and returns the
// number of rows.
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

// blame writes the scores before the first state that cannot be scored, and returns its error.
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
		// Score saw a single state, so its number 0 says nothing.
		reason := strings.NewReplacer("states: ", "", " of configuration 0", "", " of state 0", "", "configuration 0", "the configuration").Replace(bad.Error())
		return &BadError{Name: in.Label(), Where: where(i), Reason: reason}
	}
	return err
}
