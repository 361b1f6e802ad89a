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
trained fead8c358bca
spins, refined by 0 a0e0183b17c9
spins, refined by 3 4b5d7b0e0037
bits, refined by 0 414fb54a1a23
bits, refined by 3 ebe82d08c534`},
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
		samples := make([]uint64, len(s.S))
		s.Draw(samples, params, 0, 0)
		for step := range uint32(4) {
			s.Generator.Draw(s.S, params, step)
			same := 0
			for i, config := range s.S {
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
trained 1f681ffb6db7
spins, refined by 0 b1c6be4f9fb6
spins, refined by 3 290afcb7e895
bits, refined by 0 0c3b656a62d2
bits, refined by 3 50cc850d643a
weighted, refined by 0 ea5b2de46bbf`}, {0, `
start 5dab04538472
trained a4ccf50e767a
spins, refined by 0 cbe4d2dbc2af
spins, refined by 3 f1c2a625ead4
bits, refined by 0 b8cc1513e668
bits, refined by 3 ac9c21dc105b
weighted, refined by 0 10a2ec2fc93f`}} {
		t.Run(fmt.Sprint("partners ", c.partners), func(t *testing.T) {
			cfg := adapted(t, "quick", TargetConfig{L: 8, Beta: 0.4, J: 1})
			cfg.Training.Batch, cfg.Loss.Partners = 128, c.partners
			systemtest.Golden(t, cfg, c.want)
		})
	}
}
