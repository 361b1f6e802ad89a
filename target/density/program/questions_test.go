package program

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStateText: eight coordinates are shown, and how many there are if there are more.
func TestStateText(t *testing.T) {
	x := []float32{1, 2.5, 3, 4, 5, 6, 7, 8, 9}
	require.Equal(t, "x = [1]", State(x[:1], nil))
	require.Equal(t, "x = [1 2.5], k = 3", State(x[:2], []uint8{3, 4}))
	require.Equal(t, "x = [1 2.5 3 4 5 6 7 8]", State(x[:8], nil))
	require.Equal(t, "x = [1 2.5 3 4 5 6 7 8 … 9 coordinates], k = 0", State(x, []uint8{0}))
}

// TestQuestions are written as the protocol has them, and the one that all processes are asked is
// the first, or the first that was not answered with −∞ alone.
func TestQuestions(t *testing.T) {
	w := New(Config{Command: []string{"python3", "target.py"}, Dim: 2, Modes: 5, Processes: 2})
	defer w.Close()
	o := w.workers[1]
	require.Equal(t, "target.command: worker 1 (python3 target.py)", w.name(1))
	require.True(t, strings.HasPrefix(w.mark(3), w.mark(-1)) && strings.HasSuffix(w.mark(3), "-3."))
	require.Contains(t, w.mark(-1), "REVGEN_PROGRAM=")
	encoded := o.encode([]float32{1, 2, -3, 0.5}, []uint8{4, 0})
	want := binary.LittleEndian.AppendUint32(nil, 2)
	for _, v := range []float64{1, 2, -3, 0.5} {
		want = binary.LittleEndian.AppendUint64(want, math.Float64bits(v))
	}
	want = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(want, 4), 0)
	require.Equal(t, want, encoded)
	require.Len(t, o.question, 4+256*(16+4))
	require.Equal(t, []int{4 + 8*256, 4 + 8*256}, []int{len(o.answer), len(o.repeated)})
	plain := New(Config{Command: []string{"x"}, Dim: 3, Processes: 1})
	defer plain.Close()
	require.Len(t, plain.workers[0].question, 4+256*24)

	answer := func(values ...float64) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(values)))
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	inf := math.Inf(-1)
	x, k := []float32{1, 2, 3, 4}, []uint8{1, 2}
	var kept []*question
	for _, c := range [][]byte{answer(inf, inf), answer(inf, inf), answer(inf, 3), answer(1, 2), answer(inf, inf)} {
		kept = append(kept, w.recordQuestion([]byte{byte(len(kept))}, c, x, k))
	}
	require.Equal(t, []byte{0}, kept[0].request)
	require.True(t, kept[0].allZero && kept[1] == kept[0])
	require.Equal(t, &question{x, k, []byte{2}, answer(inf, 3), false}, kept[2])
	require.True(t, kept[3] == kept[2] && kept[4] == kept[2])
	x[0], k[0] = 9, 9
	require.Equal(t, []any{float32(1), uint8(1)}, []any{kept[2].x[0], kept[2].k[0]}, "a copy")
	require.Equal(t, 3.0, answerAt(kept[2].answer, 1))
}

// TestProgramsThatDoNotStart: a command that is none is an error that names it and the states.
func TestProgramsThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/none", nil, 0o600))
	w := New(Config{Command: []string{dir + "/none"}, Dim: 1, Processes: 1})
	defer w.Close()
	err := w.Evaluate(make([]float64, 300), make([]float32, 300), nil)
	require.ErrorContains(t, err, "target.command: worker 0 ("+dir+"/none) cannot be started: ")
	require.ErrorContains(t, err, "; it was asked about 256 states, the first of them x = [0]")
}
