package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/internal/lists"
)

// A Study compares variants of one experiment, all trained alike but for what
// their assignments change. Where that tells the same, its runs are shorter than
// the preset's.
type Study struct {
	Name        string
	Title       string
	System      string
	Preset      string
	Assignments []string // key.path=value, of every variant, after the preset's values
	Variants    []Variant
}

// A Variant is one row of a study.
type Variant struct {
	Label       string
	Assignments []string // after the study's
}

// Studies are the comparisons that can be run: what the parts of the best
// recipes are for, what else the paper's method allows, and the roads beside it.
var Studies = []Study{
	{
		Name: "ablations-gmm", Title: "Gaussian mixture, a RealNVP: which pairs detailed balance compares",
		System: "gmm", Preset: "best", Assignments: []string{"generator.kind=realnvp", "generator.depth=8", "generator.hidden=[64,64]",
			"generator.gain=1", "generator.clamp=1", "training.optimizer.learning_rate=0.004", "training.steps=1200"},
		Variants: []Variant{
			{Label: "three quarters of the pairs local moves, one independent"},
			{Label: "local moves alone", Assignments: []string{"loss.partners=0"}},
			{Label: "independent partners alone: KL(q‖π)", Assignments: []string{"loss.partners=1"}},
			{Label: "m = 1", Assignments: []string{"transition.steps=1"}},
			{Label: "m = 100", Assignments: []string{"transition.steps=100"}},
			{Label: "local moves alone, m = 1", Assignments: []string{"loss.partners=0", "transition.steps=1"}},
			{Label: "half the steps", Assignments: []string{"training.steps=600"}},
		},
	},
	{
		Name: "ablations-hybrid", Title: "Double wells: which states the loss of detailed balance compares",
		System: "hybrid", Preset: "best",
		Variants: []Variant{
			{Label: "all of it"},
			{Label: "independent samples alone", Assignments: []string{"loss.partners=1"}},
			{Label: "half of them from moves", Assignments: []string{"loss.partners=0.5"}},
			{Label: "moves alone", Assignments: []string{"loss.partners=0"}},
			{Label: "moves alone, twenty", Assignments: []string{"loss.partners=0", "transition.steps=20"}},
			{Label: "moves alone, within modes", Assignments: []string{"loss.partners=0", "transition.across=0"}},
			{Label: "two Gaussians a mode", Assignments: []string{"generator.components=2"}},
			{Label: "two, moves alone", Assignments: []string{"generator.components=2", "loss.partners=0"}},
			{Label: "a third of the steps", Assignments: []string{"training.steps=1000"}},
		},
	},
	{
		Name: "roads", Title: "Ising model, L = 3, β = 0.2, a small network: the roads beside the kernel's gradient",
		System: "ising", Preset: "paper",
		Assignments: []string{"generator.head=bernoulli", "generator.hidden=[16]", "generator.latent=8",
			"loss.gradient=difference", "transition.steps=10", "transition.anneal=0.3",
			"training.batch=512", "training.steps=1000", "training.optimizer.learning_rate=0.01", "training.optimizer.epsilon=1e-16",
			"training.optimizer.weight_decay=0", "training.schedule.kind=cosine", "training.ema=0.998"},
		Variants: []Variant{
			{Label: "flipped spins", Assignments: pairs},
			{Label: "the paper's surrogate", Assignments: slices.Concat(pairs, []string{"loss.gradient=surrogate"})},
			{Label: "the full gradient", Assignments: slices.Concat(pairs, []string{"loss.gradient=full"})},
			{Label: "score function", Assignments: slices.Concat(pairs, []string{"loss.gradient=score"})},
			{Label: "discriminator", Assignments: []string{"loss.kind=discriminator", "loss.discriminator.form=pair",
				"training.optimizer.learning_rate=0.0005", "training.schedule.warmup=100"}},
			{Label: "evolution strategies", Assignments: slices.Concat(pairs, []string{"training.method=evolution",
				"training.optimizer.learning_rate=0.02", "training.evolution.pairs=16", "training.evolution.sigma=0.03"})},
			{Label: "consensus", Assignments: slices.Concat(pairs, []string{"training.method=consensus", "training.steps=400",
				"training.consensus.particles=32", "training.consensus.spread=0.5"})},
		},
	},
	{
		Name: "roads-gmm", Title: "Gaussian mixture: the learned discriminator beside the kernel",
		System: "gmm", Preset: "paper", Assignments: slices.Concat(few, []string{"training.schedule.kind=cosine", "transition.sigma=[0.3,1,2]", "loss.boundary.weight=0"}),
		Variants: judged,
	},
	{
		Name: "roads-hybrid", Title: "Double wells of μ = 0.5 and 1: the learned discriminator beside the kernel",
		System: "hybrid", Preset: "paper",
		Assignments: slices.Concat(few, []string{"target.mu=[0.5,1]", "transition.order=random", "transition.sigma=[0.1,0.5]", "transition.flip=0.5", "generator.gain=5"}),
		Variants:    judged,
	},
	{
		Name: "kernels", Title: "Gaussian mixture: the kernel of the discrepancy",
		System: "gmm", Preset: "paper",
		Assignments: []string{"training.optimizer.learning_rate=0.001", "training.optimizer.epsilon=1e-16", "training.optimizer.weight_decay=0",
			"training.schedule.kind=cosine", "training.ema=0.998", "training.batch=1024", "training.steps=1500",
			"transition.sigma=[0.3,1,2]", "transition.steps=20", "loss.statistic=U"},
		Variants: []Variant{
			{Label: "Gaussian, σ = 0.5", Assignments: []string{"loss.kernel.bandwidths=[0.5]", "loss.kernel.imq=[]"}},
			{Label: "the paper's five Gaussians and IMQ"},
			{Label: "IMQ, c = 0.2, β = 1.5", Assignments: []string{`loss.kernel={"bandwidths":[],"imq":[{"c":0.2,"beta":1.5,"weight":1}]}`}},
			{Label: "the same without a boundary", Assignments: []string{"loss.boundary.weight=0",
				`loss.kernel={"bandwidths":[],"imq":[{"c":0.2,"beta":1.5,"weight":1}]}`}},
			{Label: "Laplacian, ℓ = 0.5", Assignments: []string{`loss.kernel={"bandwidths":[],"matern":[{"nu":0.5,"length":0.5,"weight":1}]}`}},
			{Label: "Matérn 3/2, ℓ = 0.5", Assignments: []string{`loss.kernel={"bandwidths":[],"matern":[{"nu":1.5,"length":0.5,"weight":1}]}`}},
			{Label: "Matérn 5/2, ℓ = 0.5", Assignments: []string{`loss.kernel={"bandwidths":[],"matern":[{"nu":2.5,"length":0.5,"weight":1}]}`}},
		},
	},
	{
		Name: "limits", Title: "Ising model, L = 32, β = 0.4407: what limits a generator with a density",
		System: "ising", Preset: "best", Assignments: []string{"target.l=32", "target.beta=0.4407"},
		Variants: []Variant{
			{Label: "all of it"},
			{Label: "12 neighbours", Assignments: []string{"generator.neighbours=12"}},
			{Label: "36 neighbours", Assignments: []string{"generator.neighbours=36"}},
			{Label: "3 hidden units", Assignments: []string{"generator.units=3"}},
			{Label: "8 hidden units", Assignments: []string{"generator.units=8"}},
			{Label: "half the batch", Assignments: []string{"training.batch=128"}},
			{Label: "twice the batch", Assignments: []string{"training.batch=512"}},
			{Label: "half the steps", Assignments: []string{"training.steps=750"}},
			{Label: "twice the steps", Assignments: []string{"training.steps=3000"}},
			{Label: "twice the steps and the batch", Assignments: []string{"training.steps=3000", "training.batch=512"}},
			{Label: "from scratch", Assignments: []string{"generator.from=scratch"}},
		},
	},
}

// pairs is the discrepancy of the roads by a kernel.
var pairs = []string{"loss.kernel.bandwidths=[1.5]", "loss.statistic=U"}

// few and judged are the short trainings and the variants of the discriminator's studies.
var (
	few = []string{"transition.steps=10", "training.batch=512", "training.steps=1000",
		"training.optimizer.learning_rate=0.001", "training.optimizer.weight_decay=0", "training.ema=0.99"}
	judged = []Variant{
		{Label: "the paper's kernel", Assignments: []string{"loss.statistic=U"}},
		{Label: "discriminator", Assignments: []string{"loss.kind=discriminator"}},
		{Label: "discriminator of pairs", Assignments: []string{"loss.kind=discriminator", "loss.discriminator.form=pair"}},
	}
)

// StudyNames lists the studies, that of neighbours, and those of targets.
func StudyNames() []string {
	return append(lists.Map(Studies, func(s Study) string { return s.Name }), NeighboursStudy, VerdictsStudy, FieldStudy, ProtocolStudy)
}

// OfTargets reports whether studies are one of targets, which takes Plan.Only.
func OfTargets(studies []string) bool {
	return len(studies) == 1 && slices.Contains([]string{VerdictsStudy, FieldStudy, ProtocolStudy}, studies[0])
}

// chooseStudies returns the studies of the given names, in their own order, and
// whether neighbours are among them.
func chooseStudies(names []string) (chosen []Study, neighbours bool, err error) {
	if slices.Equal(names, []string{"all"}) {
		return Studies, false, nil // the others have seeds of their own
	}
	for _, name := range names {
		if !slices.Contains(StudyNames(), name) {
			return nil, false, fmt.Errorf("unknown study %q; the studies are %s, or all", name, strings.Join(StudyNames(), ", "))
		}
	}
	for _, name := range names {
		if OfTargets([]string{name}) {
			return nil, false, fmt.Errorf("study: %s is another kind of study, and runs by itself", name)
		}
	}
	for _, s := range Studies {
		if slices.Contains(names, s.Name) {
			chosen = append(chosen, s)
		}
	}
	return chosen, slices.Contains(names, NeighboursStudy), nil
}

// setting returns a variant as the experiment that it is.
func (s *Study) setting(v *Variant) reproduce.Setting {
	return reproduce.Setting{Name: v.Label, Title: v.Label, System: s.System, Assignments: slices.Concat(s.Assignments, v.Assignments)}
}

// directory returns the name of a variant's directory: its label in letters and
// digits.
func (v *Variant) directory() string {
	words := strings.FieldsFunc(v.Label, func(r rune) bool { return !isPlain(r) })
	return strings.ToLower(strings.Join(words, "-"))
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.'
}
