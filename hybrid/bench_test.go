package hybrid

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// BenchmarkStep takes whole training steps and their parts, of the presets, on one thread and on two.
func BenchmarkStep(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, preset := range []string{"paper", "best"} {
			b.Run(preset+"/"+map[int]string{1: "1thread", 2: "2threads"}[threads], func(b *testing.B) {
				workers := pool.New(threads)
				defer workers.Close()
				c, err := Preset(preset)
				require.NoError(b, err)
				trainer, err := engine.NewTrainer(c, workers)
				require.NoError(b, err)
				s, params := trainer.System(), trainer.Params()
				grad := make([]float32, s.NumParams())
				for range 20 {
					require.NoError(b, trainer.Step())
				}
				step := uint32(100)
				for name, part := range map[string]func(){
					"step": func() { require.NoError(b, trainer.Step()) },
					"loss": func() {
						_, err := s.Loss(params, step)
						require.NoError(b, err)
					},
					"backward": func() { s.Backward(params, grad) },
				} {
					b.Run(name, func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							part()
						}
					})
				}
			})
		}
	}
}
