package ising

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

func TestGolden(t *testing.T) {
	for _, c := range []struct{ preset, want string }{
		{"paper", `
start 9f4f10571f59
trained a457a8d1376f
spins, refined by 0 c60ba8e3f20b
spins, refined by 3 22855676393b
bits, refined by 0 6501cb65840e
bits, refined by 3 6268d463fdf6`},
	} {
		t.Run(c.preset, func(t *testing.T) {
			cfg := small(t, c.preset)
			systemtest.Golden(t, cfg, c.want)
		})
	}
}

// TestSamplesAreNotTheTrainingBatch draws both with the same parameters: their
// noise comes from streams apart.
func TestSamplesAreNotTheTrainingBatch(t *testing.T) {
	for _, head := range conf.Values(new(Config), "generator.head") {
		cfg := small(t, "paper")
		cfg.Generator.Head, cfg.Generator.Gain = head, 10
		workers := pool.New(1)
		defer workers.Close()
		made, err := cfg.New(workers)
		require.NoError(t, err)
		s := made.(*system)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		samples := make([]uint64, len(s.Batch().States))
		s.Drawing(params).Draw(samples, 0, 0)
		for step := range uint32(4) {
			s.Generate(params, step)
			same := 0
			for i, config := range s.Batch().States {
				if config == samples[i] {
					same++
				}
			}
			require.Less(t, same, len(samples)/4, head)
		}
	}
}

func TestGoldenHierarchy(t *testing.T) {
	for _, c := range []struct {
		partners float64
		want     string
	}{{1, `
start 5dab04538472
trained 8bd942d8def6
spins, refined by 0 89d0ded2cc9c
spins, refined by 3 0399b7b50244
bits, refined by 0 ba7e1d4059e8
bits, refined by 3 123b84607cf3
weighted, refined by 0 b3579c2269f5`}, {0, `
start 5dab04538472
trained 2593ed844b3a
spins, refined by 0 44a2d0f96c09
spins, refined by 3 e48f82587180
bits, refined by 0 0b6bb4945bc0
bits, refined by 3 8d5bcb002414
weighted, refined by 0 2d2944dfcba0`}} {
		t.Run(fmt.Sprint("partners ", c.partners), func(t *testing.T) {
			cfg := adapted(t, "quick", TargetConfig{L: 8, Beta: 0.4, J: 1})
			cfg.Training.Batch, cfg.Loss.Partners = 128, c.partners
			systemtest.Golden(t, cfg, c.want)
		})
	}
}
