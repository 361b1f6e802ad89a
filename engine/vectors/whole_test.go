package vectors_test

import (
	"testing"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs by each loss and method are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, root.Systems(), "runs",
		`gmm paper generator.hidden=[8] generator.depth=2 training.batch=64`,
		`gmm paper generator.hidden=[8] generator.depth=2 training.batch=64 training.method=evolution training.evolution.pairs=3`,
		`gmm paper generator.hidden=[8] generator.depth=2 training.batch=64 training.method=consensus training.consensus.particles=4`,
		`gmm paper generator.hidden=[8] generator.depth=2 training.batch=64 loss.gradient=full loss.statistic=U training.ema=0.9 training.clip_norm=0.01 transition.anneal=0.5 transition.anneal_from=0.2`,
		`gmm paper generator.hidden=[8] generator.depth=2 training.batch=64 loss.kind=discriminator loss.discriminator.hidden=[8] loss.discriminator.form=difference training.schedule.kind=cosine training.schedule.warmup=3`,
		`gmm best generator.scout.population=128 generator.bent=true generator.depth=2 generator.hidden=[8]`,
		`hybrid paper loss.kind=discriminator generator.hidden=[8] loss.discriminator.hidden=[8]`,
	)
}
