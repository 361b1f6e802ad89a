package score

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// A byteTarget has states of one byte b and of another that says nothing. Their energy is b/2,
// their observables are b/2 and 10 b, a model's ln w is −b/4, and there is no state 255.
type byteTarget struct {
	engine.System
	beta float64
}

var format = engine.Format{Name: "bytes", Descr: "'|i1'", Shape: []int{2}, RowBytes: 2}

func (s byteTarget) Energies(dst []float64, _ string, states []byte) (float64, error) {
	for i := range dst {
		if states[2*i] == 255 {
			return 0, fmt.Errorf("states: number 1 of state %d is 255", i)
		}
		dst[i] = float64(states[2*i]) / 2
	}
	return s.beta, nil
}

func (s byteTarget) Refine([]byte, string, uint64, int) error { return nil }

func (s byteTarget) Convert([]byte, string, []byte) error { return nil }

func (s byteTarget) Observables() []string { return []string{Energy, "ten", engine.LogWeight} }

func (s byteTarget) Score(values []float64, params []float32, _ string, states []byte) error {
	for i := range len(states) / 2 {
		b := float64(states[2*i])
		copy(values[3*i:], []float64{b / 2, 10 * b, math.NaN()})
		if params != nil {
			values[3*i+2] = -b / 4
		}
	}
	return nil
}

// TestFiguresOfScores: ln π̃ = −βE, and ln q that of the model by its own target, whose
// difference is the weight.
func TestFiguresOfScores(t *testing.T) {
	j := NewJudge(byteTarget{beta: 3}, byteTarget{beta: 2}, []float32{1})
	require.Equal(t, []string{"energy", "log_density", "ten", "log_model", "log_weight"}, j.Columns)
	require.True(t, j.HasModel())
	states := []byte{0, 9, 8, 9, 4, 9}
	// log_model = −2 b/2 + b/4.
	values, err := j.Score(nil, format.Name, states, len(states)/2)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0, 0, 0, 0, 4, -12, 80, -6, -6, 2, -6, 40, -3, -3}, values)
	// Each column by itself asks for all that it needs.
	for k, name := range j.Columns {
		one := NewJudge(byteTarget{beta: 3}, byteTarget{beta: 2}, []float32{1})
		require.NoError(t, one.Select([]string{name}))
		alone, err := one.Score(nil, format.Name, states, len(states)/2)
		require.NoError(t, err)
		require.Equal(t, []float64{values[k], values[5+k], values[10+k]}, alone, name)
	}
	require.NoError(t, j.Select([]string{"ten", "energy"}))
	values, err = j.Score(values, format.Name, states, len(states)/2)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0, 80, 4, 40, 2}, values)
	require.EqualError(t, j.Select(nil), "names none of ten, energy")
	require.EqualError(t, j.Select([]string{"ten", "ten"}), "names ten twice")
	require.EqualError(t, j.Select([]string{"log_model"}), `"log_model" is not one of ten, energy`)
	hot := NewJudge(byteTarget{}, nil, nil)
	require.False(t, hot.HasModel())
	values, err = hot.Score(nil, format.Name, states, len(states)/2)
	require.NoError(t, err)
	require.False(t, math.Signbit(values[4]), "−0 · E")
	require.True(t, math.IsInf(logDensity(0, math.Inf(1)), 0) || math.IsNaN(logDensity(0, math.Inf(1))), "π vanishes at any temperature")
}

// scored is what Run writes of states that it is given.
func scored(t *testing.T, layout, kind string, states []byte) (rows int64, text string, err error) {
	t.Helper()
	j := NewJudge(byteTarget{beta: 1}, nil, nil)
	in, err := Open("-", bytes.NewReader(states), kind, "", []engine.Format{format}, 1)
	require.NoError(t, err)
	workers := pool.New(2)
	defer workers.Close()
	var b bytes.Buffer
	out, err := NewOutput(&b, layout, j.Columns, int64(len(states)/2), workers)
	require.NoError(t, err)
	rows, err = Run(t.Context(), j, in, out.WriteRows)
	if err == nil {
		require.NoError(t, out.Close())
		require.EqualValues(t, len(states), in.Bytes)
	}
	require.EqualValues(t, b.Len(), out.Bytes)
	return rows, b.String(), err
}

// TestTables: every layout has the same rows, those of several pieces in their order.
func TestTables(t *testing.T) {
	states := make([]byte, 2*1300)
	var lines, cells []string
	for i := range 1300 {
		states[2*i] = byte(i % 250)
		e := float64(i%250) / 2
		lines = append(lines, fmt.Sprintf("{\"energy\":%v,\"log_density\":%v,\"ten\":%d}\n", e, 0-e, 10*(i%250)))
		cells = append(cells, fmt.Sprintf("%v,%v,%d\n", e, 0-e, 10*(i%250)))
	}
	rows, text, err := scored(t, "ndjson", "raw", states)
	require.NoError(t, err)
	require.EqualValues(t, 1300, rows)
	require.Equal(t, strings.Join(lines, ""), text)
	_, text, err = scored(t, "csv", "raw", states)
	require.NoError(t, err)
	require.Equal(t, "energy,log_density,ten\n"+strings.Join(cells, ""), text)
	_, text, err = scored(t, "npy", "raw", states)
	require.NoError(t, err)
	require.Contains(t, text[:128], "'descr': [('energy', '<f8'), ('log_density', '<f8'), ('ten', '<f8')]")
	require.Contains(t, text[:128], "(1300,)")
	data := text[len(text)-1300*24:]
	require.Equal(t, 1239%250*10., math.Float64frombits(binary.LittleEndian.Uint64([]byte(data[24*1239+16:]))))

	// Rows before a state that cannot be scored are written.
	states[2*700] = 255
	_, text, err = scored(t, "csv", "raw", states)
	require.EqualError(t, err, "stdin: state 700: number 1 is 255")
	require.Equal(t, "energy,log_density,ten\n"+strings.Join(cells[:700], ""), text)
	_, _, err = scored(t, "csv", "raw", states[:7])
	require.EqualError(t, err, "stdin: state 3: ends after 1 of its 2 bytes")
	rows, text, err = scored(t, "csv", "ndjson", []byte("[2,1]\n\n[4,1]\n"))
	require.NoError(t, err)
	require.EqualValues(t, 2, rows)
	require.Equal(t, "energy,log_density,ten\n1,-1,20\n2,-2,40\n", text)
}

// A broken target cannot do one thing.
type broken struct {
	byteTarget
	energies, scores bool
}

var errBroken = errors.New("out of order")

func (s broken) Energies(dst []float64, format string, states []byte) (float64, error) {
	if s.energies {
		return 0, errBroken
	}
	return s.byteTarget.Energies(dst, format, states)
}

func (s broken) Score(values []float64, params []float32, format string, states []byte) error {
	if s.scores {
		return errBroken
	}
	return s.byteTarget.Score(values, params, format, states)
}

// TestErrorsOfScores: whatever a target or a model cannot do is the error, and so is what ends a run.
func TestErrorsOfScores(t *testing.T) {
	fine := byteTarget{beta: 1}
	for _, c := range []struct {
		target, model engine.Scorer
		columns       []string // that need what is broken
	}{
		{broken{fine, true, false}, fine, []string{"energy", "log_density", "log_weight"}}, {broken{fine, false, true}, fine, []string{"ten"}},
		{fine, broken{fine, true, false}, []string{"log_model", "log_weight"}}, {fine, broken{fine, false, true}, []string{"log_model", "log_weight"}},
	} {
		for _, name := range []string{"energy", "log_density", "ten", "log_model", "log_weight"} {
			j := NewJudge(c.target, c.model, []float32{1})
			require.NoError(t, j.Select([]string{name}))
			_, err := j.Score(nil, format.Name, []byte{4, 9}, 1)
			require.Equal(t, slices.Contains(c.columns, name), errors.Is(err, errBroken), name)
		}
	}
	j := NewJudge(fine, nil, nil)
	open := func(states []byte) *Input {
		in, err := Open("-", bytes.NewReader(states), "raw", "", []engine.Format{format}, 1)
		require.NoError(t, err)
		return in
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := Run(ended, j, open([]byte{1, 2}), nil)
	require.ErrorIs(t, err, context.Canceled)
	for _, states := range [][]byte{{1, 2, 3, 4}, {1, 2, 255, 4}} {
		_, err = Run(t.Context(), j, open(states), func([]float64) error { return errBroken })
		require.ErrorIs(t, err, errBroken)
	}
}

// A crowded target takes one state at a time.
type crowded struct{ byteTarget }

func (s crowded) Energies(dst []float64, format string, states []byte) (float64, error) {
	if len(dst) > 1 {
		return 0, errBroken
	}
	return s.byteTarget.Energies(dst, format, states)
}

// TestStatesThatCannotBeBlamed: where each state can be scored alone all are written, and the error is that of all.
func TestStatesThatCannotBeBlamed(t *testing.T) {
	j := NewJudge(crowded{byteTarget{beta: 1}}, nil, nil)
	require.NoError(t, j.Select([]string{"energy"}))
	in, err := Open("-", bytes.NewReader([]byte{2, 0, 8, 0}), "raw", "", []engine.Format{format}, 1)
	require.NoError(t, err)
	var written []float64
	rows, err := Run(t.Context(), j, in, func(rows []float64) error { written = append(written, rows...); return nil })
	require.Equal(t, errBroken, err)
	require.Zero(t, rows)
	require.Equal(t, []float64{1, 4}, written)
}
