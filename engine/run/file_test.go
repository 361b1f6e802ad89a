package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/long"
)

// failing fails at the n-th write.
type failing struct {
	bytes.Buffer
	n int
}

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return f.Buffer.Write(p)
}

// TestContainer encodes sections about the ends of pieces, and more pieces than
// are on their way at once.
func TestContainer(t *testing.T) {
	long.SkipShort(t)
	var sections []engine.Section
	var want bytes.Buffer
	for i, n := range []int{1, chunkBytes / 8, chunkBytes/8 + 1, chunkBytes, 2*chunkBytes + 3} {
		single, double := make([]float32, n), make([]float64, n)
		for j := range n {
			single[j], double[j] = float32(math.Sin(float64(i+j))), math.Cos(float64(i-j))
		}
		sections = append(sections, engine.Section{Name: "single", Float32: single}, engine.Section{Name: "double", Float64: double})
		require.NoError(t, binary.Write(&want, binary.LittleEndian, single))
		require.NoError(t, binary.Write(&want, binary.LittleEndian, double))
	}
	whole := failing{n: math.MaxInt}
	err := encode(&whole, header{Kind: "checkpoint"}, sections)
	require.NoError(t, err)
	writes := math.MaxInt - whole.n
	data := whole.Bytes()
	head := 16 + int(binary.LittleEndian.Uint64(data[8:]))
	end := len(data) - sha256.Size
	require.True(t, bytes.Equal(want.Bytes(), data[head:end]))
	sum := sha256.Sum256(data[:end])
	require.Equal(t, sum[:], data[end:])

	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, writeFile(path, header{Kind: "checkpoint"}, sections))
	h, read, err := readFile(path, "checkpoint")
	require.NoError(t, err)
	got := make([]engine.Section, len(sections))
	for i, s := range sections {
		got[i] = engine.Section{Name: s.Name}
		if s.Float32 != nil {
			got[i].Float32 = make([]float32, len(s.Float32))
		} else {
			got[i].Float64 = make([]float64, len(s.Float64))
		}
	}
	require.NoError(t, fill(path, h, read, got))
	require.Equal(t, sections, got)

	for _, n := range []int{0, 1, 7, writes - 1} {
		err := encode(&failing{n: n}, header{}, sections)
		require.ErrorIs(t, err, errFull, "write %d of %d", n, writes)
	}
}
