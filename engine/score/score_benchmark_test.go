package score_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/score"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/ising"
)

// BenchmarkScore scores the spins of a 16×16 lattice from each kind of input on one thread, and
// from lines by encoding/json, which finds the same energies.
func BenchmarkScore(b *testing.B) {
	const n, sites = 1 << 16, 16 * 16
	config, err := ising.Preset("paper")
	require.NoError(b, err)
	config.Target.L = 16
	workers := engine.NewWorkers(1)
	defer workers.Close()
	system, err := config.New(workers)
	require.NoError(b, err)
	params := make([]float32, system.NumParams())
	system.Initialize(params)
	judge := score.NewJudge(system.(engine.Scorer), nil, nil)
	require.NoError(b, judge.Select([]string{score.Energy}))

	sampler := system.(engine.Sampler)
	spins, bits := make([]byte, n*sites), make([]byte, n*sites/8)
	require.NoError(b, sampler.Sample(spins, "spins", params, 0, n, 0))
	require.NoError(b, sampler.Sample(bits, "bits", params, 0, n, 0))
	var lines []byte
	for row := range slices.Chunk(spins, sites) {
		signs := make([]int8, sites)
		for i, s := range row {
			signs[i] = int8(s)
		}
		line, err := json.Marshal(signs)
		require.NoError(b, err)
		lines = append(append(lines, line...), '\n')
	}
	head, err := npy.Header{Descr: "'|i1'", Shape: []int{n, 16, 16}}.Append(nil)
	require.NoError(b, err)
	array := filepath.Join(b.TempDir(), "spins.npy")
	require.NoError(b, os.WriteFile(array, slices.Concat(head, spins), 0o600))

	open := func(path, kind, format string, stdin []byte) func(write func([]float64) error) error {
		return func(write func([]float64) error) error {
			in, err := score.Open(path, bytes.NewReader(stdin), kind, format, sampler.Formats(), 1)
			require.NoError(b, err)
			defer in.Close()
			_, err = score.Run(b.Context(), judge, in, write)
			return err
		}
	}
	standard := func(write func([]float64) error) error {
		var scores []float64
		signs, part := make([]int8, sites), make([]byte, 0, 1024*sites)
		in := bufio.NewScanner(bytes.NewReader(lines))
		for in.Scan() {
			if err := json.Unmarshal(in.Bytes(), &signs); err != nil {
				return err
			}
			for _, s := range signs {
				part = append(part, byte(s))
			}
			if len(part) < cap(part) {
				continue
			}
			if scores, err = judge.Score(scores, "spins", part, len(part)/sites); err != nil {
				return err
			}
			if err := write(scores); err != nil {
				return err
			}
			part = part[:0]
		}
		return in.Err()
	}
	var energies [][]float64
	for _, c := range []struct {
		name  string
		bytes int
		run   func(write func([]float64) error) error
	}{
		{"npy", len(spins), open(array, "npy", "", nil)},
		{"bits", len(bits), open("-", "raw", "bits", bits)},
		{"ndjson", len(lines), open("-", "ndjson", "spins", lines)},
		{"encoding-json", len(lines), standard},
	} {
		var found []float64
		require.NoError(b, c.run(func(rows []float64) error {
			found = append(found, rows...)
			return nil
		}))
		require.Len(b, found, n)
		energies = append(energies, found)
		require.Equal(b, energies[0], found)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.bytes))
			for b.Loop() {
				out, err := score.NewOutput(io.Discard, "npy", judge.Columns, n, workers)
				require.NoError(b, err)
				require.NoError(b, c.run(out.WriteRows))
				require.NoError(b, out.Close())
			}
		})
	}
}
