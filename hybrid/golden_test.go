package hybrid

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/systemtest"
)

func TestGolden(t *testing.T) {
	for _, c := range []struct{ preset, want string }{
		{"paper", `
start 4345a25332b4
trained 1cf08936387e
states, refined by 0 322e9c3a875f
states, refined by 3 cec2bac69001
x, refined by 0 b03d23ddf92a
x, refined by 3 a70d9bff4896`},
		{"best", `
start cd8258e1c38b
trained 9f7edfd298a5
states, refined by 0 fe5f85f8d717
states, refined by 3 1c2dc39d060f
x, refined by 0 d29013155f72
x, refined by 3 7638769fea9f`},
	} {
		t.Run(c.preset, func(t *testing.T) { systemtest.Golden(t, small(t, c.preset), c.want) })
	}
}

// TestSamplesAreNotTheTrainingBatch draws both with the same parameters: their
// noise comes from streams apart.
func TestSamplesAreNotTheTrainingBatch(t *testing.T) {
	trainer := newTrainer(t, small(t, "paper"), 1)
	s := trainer.System().(*system)
	x, k := make([]float32, len(s.batch.x)), make([]uint8, len(s.batch.x))
	s.newSampler(trainer.Params()).draw(x, k, 0, 0)
	for step := range uint32(4) {
		s.Generate(trainer.Params(), step)
		for i, v := range s.batch.x {
			require.NotEqual(t, v, x[i])
		}
	}
}
