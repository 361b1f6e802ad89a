package score

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// A byteTarget has states of one byte b and of another that says nothing, of energy b/2,
// and as observables that and 10 b. Of a model ln w is −b/4. There is no state 255.
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
	j, err := NewJudge(byteTarget{beta: 3}, byteTarget{beta: 2}, []float32{1})
	require.NoError(t, err)
	require.Equal(t, []string{"energy", "log_density", "ten", "log_model", "log_weight"}, j.Columns)
	require.True(t, j.HasModel())
	states := []byte{0, 9, 8, 9, 4, 9}
	// log_model = −2 b/2 + b/4.
	table, err := j.Score(nil, format, states)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0, 0, 0, 0, 4, -12, 80, -6, -6, 2, -6, 40, -3, -3}, table)
	// Each column by itself asks for all that it needs.
	for k, name := range j.Columns {
		one, err := NewJudge(byteTarget{beta: 3}, byteTarget{beta: 2}, []float32{1})
		require.NoError(t, err)
		require.NoError(t, one.Keep([]string{name}))
		alone, err := one.Score(nil, format, states)
		require.NoError(t, err)
		require.Equal(t, []float64{table[k], table[5+k], table[10+k]}, alone, name)
	}
	require.NoError(t, j.Keep([]string{"ten", "energy"}))
	table, err = j.Score(table, format, states)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0, 80, 4, 40, 2}, table)
	require.EqualError(t, j.Keep(nil), "names none of ten, energy")
	require.EqualError(t, j.Keep([]string{"ten", "ten"}), "names ten twice")
	require.EqualError(t, j.Keep([]string{"log_model"}), `"log_model" is not one of ten, energy`)
	hot, err := NewJudge(byteTarget{}, nil, nil)
	require.NoError(t, err)
	require.False(t, hot.HasModel())
	table, err = hot.Score(nil, format, states)
	require.NoError(t, err)
	require.False(t, math.Signbit(table[4]), "−0 · E")
	require.True(t, math.IsInf(logDensity(0, math.Inf(1)), 0) || math.IsNaN(logDensity(0, math.Inf(1))), "π vanishes at any temperature")
}

// scored is what Run writes of states that it is given.
func scored(t *testing.T, layout, kind string, states []byte) (rows int64, text string, err error) {
	t.Helper()
	j, err := NewJudge(byteTarget{beta: 1}, nil, nil)
	require.NoError(t, err)
	in, err := Open("-", bytes.NewReader(states), kind, "", []engine.Format{format}, 1)
	require.NoError(t, err)
	workers := pool.New(2)
	defer workers.Close()
	var b bytes.Buffer
	out, err := NewOutput(&b, layout, j.Columns, int64(len(states)/2), workers)
	require.NoError(t, err)
	rows, err = Run(t.Context(), j, in, out)
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
	for x, want := range map[float64]string{1<<53 - 1: "9007199254740991", -1 << 53: "-9.007199254740992e+15", 0.1: "0.1", math.Inf(1): "'Infinity'", math.Inf(-1): "'-Infinity'"} {
		require.Equal(t, want, string(appendNumber(nil, x, "'")))
	}
	require.Equal(t, "'NaN'", string(appendNumber(nil, math.NaN(), "'")))
}

// TestCreate: no table is begun that has no room, or whose device takes nothing.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.npy")
	_, err := Create(path, "npy", []string{"a"}, 1<<55, nil)
	require.Error(t, err)
	_, err = Create(filepath.Join(path, "nowhere.csv"), "csv", []string{"a"}, 1, nil)
	require.Error(t, err)
	_, err = Create(path, "npy", []string{"it's"}, 1, nil)
	require.EqualError(t, err, `column "it's": NumPy's header has no room for such a name`)
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	if _, err := os.Stat("/dev/full"); err == nil {
		_, err = Create("/dev/full", "csv", []string{"a"}, 1, nil)
		require.ErrorContains(t, err, "no space left on device")
	}
	o, err := Create(path, "npy", []string{"a"}, 2, pool.New(1))
	require.NoError(t, err)
	require.True(t, o.Temporary())
	require.NoError(t, o.Rows([]float64{1, 2}))
	require.NoError(t, o.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, o.Bytes, info.Size())
	short, err := Create(path, "npy", []string{"a"}, 2, pool.New(1))
	require.NoError(t, err)
	require.NoError(t, short.Rows([]float64{3}))
	require.Error(t, short.Close(), "a row is missing")
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, info.ModTime(), after.ModTime(), "what was there stays")
}

// TestCount: lines of a file that are not blank, after which it is read from its beginning.
func TestCount(t *testing.T) {
	long := "[" + strings.Repeat(" ", 1<<20) + "3,1]"
	path := filepath.Join(t.TempDir(), "states.ndjson")
	require.NoError(t, os.WriteFile(path, []byte("\n[1,1]\r\n \t\n"+long+"\n[2,1]"), 0o600))
	in, err := Open(path, nil, "", "", []engine.Format{format}, 1)
	require.NoError(t, err)
	require.EqualValues(t, -1, in.Rows)
	require.NoError(t, in.Count())
	require.EqualValues(t, 3, in.Rows)
	var where []string
	require.NoError(t, in.Each(func(states []byte, at func(int) string) error {
		for i := range len(states) / 2 {
			where = append(where, fmt.Sprint(at(i), " ", states[2*i]))
		}
		return nil
	}))
	require.Equal(t, []string{"line 2 1", "line 4 3", "line 5 2"}, where)
	require.NoError(t, in.Close())
	pipe, err := Open("-", strings.NewReader("[1,1]\n"), "", "", []engine.Format{format}, 1)
	require.NoError(t, err)
	require.ErrorContains(t, pipe.Count(), "stdin: how many states there are shows only at their end")
	stop := errors.New("enough")
	require.ErrorIs(t, pipe.Each(func([]byte, func(int) string) error { return stop }), stop)
}
