package cli

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// options are the values of one key.
type options struct {
	key    string
	values []string
}

// combinations are the choices of a system that could get in each other's way:
// all combinations of product, each with several draws of values of drawn.
type combinations struct {
	system         string
	small          []string // assignments that make a run short
	product, drawn []options
}

var (
	kernels = options{"loss.kernel", []string{
		`{"bandwidths":[1]}`, `{"bandwidths":[2],"imq":[{"c":1,"beta":0.5,"weight":1}]}`, `{"bandwidths":[],"matern":[{"nu":0.5,"length":1,"weight":1}]}`,
		`{"bandwidths":[],"matern":[{"nu":1.5,"length":1,"weight":1},{"nu":2.5,"length":1,"weight":1}]}`, `{"bandwidths":[],"diffusion":[0.5]}`,
	}}
	statistics = options{"loss.statistic", []string{"V", "U"}}
	methods    = options{"training.method", []string{"gradient", "evolution", "consensus"}}
	minute     = []string{
		"training.batch=24", "training.steps=2", "training.schedule.milestones=[]", "training.clip_norm=0",
		"training.evolution.pairs=1", "training.consensus.particles=2",
	}
)

var walks = []combinations{
	{
		system: "ising",
		small:  []string{"loss.discriminator.hidden=[3]", "loss.discriminator.steps=1", "target.l=2", "generator.latent=2", "generator.signs.number=1", "generator.hidden=[3]", "transition.steps=2"},
		product: []options{
			{"loss.kind", []string{"mmd", "discriminator"}},
			{"loss.gradient", []string{"surrogate", "difference", "score", "full"}},
			statistics,
			{"generator.head", []string{"sign", "bernoulli"}},
		},
		drawn: []options{
			kernels, methods,
			{"transition.proposal", []string{"single", "mixture", "multi-spin"}},
			{"generator.width.unit", []string{"absolute", "absolute", "spread"}},
			{"target.h", []string{"0", "0", "0", "0", "0.1"}},
			{"transition.anneal", []string{"0", "0.5"}},
		},
	},
	{
		system: "gmm",
		small:  []string{"training.optimizer.weight_decay=0", "generator.scout.population=20", "generator.scout.moves=1", "generator.depth=2", "generator.hidden=[3]", "transition.steps=2", "loss.discriminator.hidden=[3]", "loss.discriminator.steps=1"},
		product: []options{
			{"loss.kind", []string{"mmd", "discriminator", "balance"}},
			{"loss.gradient", []string{"surrogate", "full", "score"}},
			statistics, kernels,
			{"loss.partners", []string{"0", "0.3", "1"}},
			{"generator.kind", []string{"realnvp", "residual", "mixture"}},
		},
		drawn: []options{
			methods,
			{"generator.partition", []string{"parity", "halves"}},
			{"loss.boundary.weight", []string{"0", "1"}},
			{"transition.sigma", []string{"[0.1]", "[0.3,1,2]"}},
			{"generator.latent", []string{"0", "0", "0", "3"}},
		},
	},
	{
		system: "hybrid",
		small:  []string{"training.optimizer.weight_decay=0", "generator.scout.population=20", "generator.scout.moves=1", "generator.latent=2", "generator.hidden=[3]", "transition.steps=2", "loss.discriminator.hidden=[3]", "loss.discriminator.steps=1"},
		product: []options{
			{"loss.kind", []string{"mmd", "discriminator", "balance"}},
			{"generator.kind", []string{"perceptron", "mixture"}},
			{"loss.partners", []string{"0", "0.3", "1"}},
			statistics, kernels,
		},
		drawn: []options{
			methods,
			{"transition.order", []string{"random", "paper-order"}},
			{"transition.across", []string{"0.5", "0", "1"}},
			{"transition.flip", []string{"0.5", "0"}},
			{"transition.sigma", []string{"[0.5]", "[0.1,0.5]"}},
		},
	},
}

const draws = 3 // of each combination

// setWhatIsThere makes the assignments, choices first, but for those of keys
// that come with other choices. It returns the chosen ones that it made.
func setWhatIsThere(t *testing.T, cfg engine.Config, always, chosen []string) (made []string) {
	t.Helper()
	for _, a := range slices.Concat(chosen, always) {
		err := conf.Set(cfg, a)
		if err != nil {
			require.ErrorContains(t, err, "there is no such key", a)
			continue
		}
		if slices.Contains(chosen, a) {
			made = append(made, a)
		}
	}
	return made
}

// TestOptionsComposeOrAreRefused trains two steps of every combination of
// options, or expects an error that begins with the key of one of them.
func TestOptionsComposeOrAreRefused(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(1)
	defer workers.Close()
	for _, w := range walks {
		t.Run(w.system, func(t *testing.T) {
			def := systems[slices.IndexFunc(systems, func(d engine.Definition) bool { return d.Name == w.system })]
			all := 1
			for _, o := range w.product {
				all *= len(o.values)
			}
			trained := map[string]bool{}
			r := rand.New(rand.NewPCG(1, 2))
			for n := range all * draws {
				cfg, err := def.Preset("paper")
				require.NoError(t, err)
				var chosen []string
				rest := n
				for _, o := range w.product {
					chosen = append(chosen, o.key+"="+o.values[rest%len(o.values)])
					rest /= len(o.values)
				}
				for _, o := range w.drawn {
					chosen = append(chosen, o.key+"="+o.values[r.IntN(len(o.values))])
				}
				chosen = setWhatIsThere(t, cfg, slices.Concat(minute, w.small), chosen)
				name := strings.Join(chosen, " ")
				trainer, err := engine.NewTrainer(cfg, workers)
				if err != nil {
					key, _, _ := strings.Cut(err.Error(), ":")
					require.True(t, slices.ContainsFunc(chosen, func(a string) bool {
						option, _, _ := strings.Cut(a, "=")
						return strings.HasPrefix(key, option)
					}) || key == "transition.steps", "%s: %v", name, err)
					continue
				}
				for range 2 {
					require.NoError(t, trainer.Step(), name)
				}
				for _, p := range trainer.Params() {
					require.False(t, math.IsNaN(float64(p)) || math.IsInf(float64(p), 0), name)
				}
				for _, a := range chosen {
					trained[a] = true
				}
			}
			for _, o := range slices.Concat(w.product, w.drawn) {
				for _, v := range o.values {
					if v == "score" && w.system == "gmm" || strings.Contains(v, "diffusion") && w.system != "ising" {
						continue // refused whatever the others are
					}
					require.True(t, trained[o.key+"="+v], "%s=%s never trains", o.key, v)
				}
			}
		})
	}
}
