// Package reproduce runs the settings of the paper's Section "Numerical
// Experiments" and sets what they give beside the paper's figures and the
// errors of as many exact samples.
//
// Each setting is a run directory of engine.Train, so that an interrupted
// reproduction continues where it was. The package knows systems by their
// definitions only; it stands above engine and, like it, knows no mathematics
// of any of them.
package reproduce

import (
	"fmt"
	"slices"
	"strings"
)

// A Setting is one experiment: a system, and what makes its presets that
// experiment's.
type Setting struct {
	Name        string // as --only takes it
	Title       string
	System      string
	Assignments []string // key.path=value, after the preset's values
	// Presets are those that the setting belongs to; nil means all. A setting
	// of our own has figures of the paper only where it repeats a target of
	// the paper's.
	Presets []string
	// Published are errors of other methods than the paper's, from the
	// literature.
	Published []Published
}

// Published is another method's error.
type Published struct {
	Method string  `json:"method"`
	Target string  `json:"target"` // what of the target is not as here, or that nothing is
	Metric string  `json:"metric"`
	Error  float64 `json:"error"`
}

// Settings are the paper's four, and then those of our own.
var Settings = []Setting{
	{Name: "gmm", Title: "Gaussian mixture, d = 2", System: "gmm"},
	{Name: "hybrid", Title: "Balanced double wells, μ = 1, 9, 25", System: "hybrid"},
	{Name: "hybrid-million", Title: "Balanced double wells, μ = 1, 9, 25, a million samples", System: "hybrid",
		Assignments: []string{"evaluation.samples=1000000"}, Presets: []string{"best"}},
	{Name: "ising-0.2", Title: "Ising model, L = 3, β = 0.2", System: "ising", Assignments: []string{"target.beta=0.2"}},
	{Name: "ising-0.5", Title: "Ising model, L = 3, β = 0.5", System: "ising", Assignments: []string{"target.beta=0.5"}},
	{Name: "ising-0.5-z2", Title: "Ising model, L = 3, β = 0.5, symmetric generator", System: "ising",
		Assignments: []string{"target.beta=0.5", "generator.symmetry=z2"}, Presets: []string{"best"}},
	million("0.2", "none"), million("0.5", "none"), million("0.5", "z2"),
	fourByFour("0.28", "z2"), fourByFour("0.4407", "z2"), fourByFour("0.6", "z2"),
	fourByFour("0.28", "none"), fourByFour("0.4407", "none"), fourByFour("0.6", "none"),
	fourByFour("0.28", "field"), fourByFour("0.4407", "field"), fourByFour("0.6", "field"),
	onOrbits("0.28", false), onOrbits("0.4407", false), onOrbits("0.6", false),
	onOrbits("0.28", true), onOrbits("0.4407", true), onOrbits("0.6", true),
	invariant(8, "0.28", bernoulliHead), invariant(8, "0.4407", signHead), invariant(8, "0.6", signHead),
	invariant(16, "0.28", bernoulliHead), invariant(16, "0.4407", slices.Concat(signHead, annealed)),
}

// million is one of the paper's Ising settings measured with so many samples that
// the sampling floor does not hide the generator's own error.
func million(beta, symmetry string) Setting {
	s := Setting{
		Name: "ising-" + beta + "-million", Title: "Ising model, L = 3, β = " + beta + ", a million samples", System: "ising",
		Assignments: []string{"target.beta=" + beta, "generator.symmetry=" + symmetry, "evaluation.samples=1000000"},
		Presets:     []string{"best"},
	}
	if symmetry != "none" {
		s.Name = "ising-" + beta + "-" + symmetry + "-million"
		s.Title = "Ising model, L = 3, β = " + beta + ", symmetric generator, a million samples"
	}
	return s
}

// fourByFour is the largest lattice all of whose configurations can be counted,
// at temperatures above, at and below the critical one, with the symmetry z2 or
// none, or in the field 0.1 of the literature. Its total variation needs more
// samples than the paper draws.
func fourByFour(beta, variant string) Setting {
	s := Setting{
		Name: "ising-l4-" + beta, Title: "Ising model, L = 4, β = " + beta, System: "ising",
		Assignments: []string{"target.l=4", "target.beta=" + beta, "training.steps=3000",
			"transition.proposal=mixture", "transition.steps=1", "transition.anneal=0.4",
			"loss.witness.bandwidth=0", "loss.witness.ridge=1e-8", "generator.signs.number=1", "evaluation.samples=1000000"},
		Presets: []string{"best"},
	}
	target := "h = 0.1, not 0"
	switch variant {
	case "z2":
		s.Title += ", symmetric generator"
		s.Assignments = append(s.Assignments, "generator.symmetry=z2")
	case "none":
		s.Name += "-none"
	case "field":
		s.Name += "-field"
		s.Title += ", h = 0.1"
		s.Assignments = append(s.Assignments, "target.h=0.1", "generator.signs.weights=learned", "training.optimizer.learning_rate=2e-3")
		target = "the same target"
	}
	s.Published = elsewhere(beta, target)
	return s
}

// elsewhere returns the total variation that other methods reach on the 4×4
// lattice in the field 0.1: masked diffusion (MDNS, arXiv 2508.10684) and IEDG.
func elsewhere(beta, target string) []Published {
	tv := map[string][2]float64{"0.28": {0.0799, 0.0860}, "0.4407": {0.0789, 0.0630}, "0.6": {0.0418, 0.0314}}[beta]
	return []Published{
		{Method: "MDNS", Target: target, Metric: "total_variation", Error: tv[0]},
		{Method: "IEDG", Target: target, Metric: "total_variation", Error: tv[1]},
	}
}

// onOrbits is fourByFour, with or without the field, for a generator with all
// symmetries of the target: of the orbits there are few enough to average with
// their transition matrix.
func onOrbits(beta string, field bool) Setting {
	s := Setting{
		Name: "ising-l4-" + beta + "-lattice", Title: "Ising model, L = 4, β = " + beta + ", generator with the lattice's symmetry", System: "ising",
		Presets:   []string{"best"},
		Published: elsewhere(beta, "h = 0.1, not 0"),
	}
	symmetry := []string{"generator.symmetry=z2+lattice"}
	if field {
		s.Name = "ising-l4-" + beta + "-field-lattice"
		s.Title = "Ising model, L = 4, β = " + beta + ", h = 0.1, generator with the lattice's symmetry"
		s.Published = elsewhere(beta, "the same target")
		symmetry = []string{"generator.symmetry=lattice", "target.h=0.1", "generator.signs.number=1", "generator.signs.weights=learned"}
	}
	s.Assignments = slices.Concat([]string{"target.l=4", "target.beta=" + beta}, symmetry, []string{
		"transition.steps=4", "transition.anneal=0", "training.steps=4000", "training.batch=2048", "training.schedule.warmup=0",
		"loss.rao_blackwell=false", "loss.witness.bandwidth=1", "loss.witness.every=2", "evaluation.samples=1000000"})
	return s
}

// Heads of the larger lattices. Given z the spins of a bernoulli head are
// independent, which suits a target that is nearly so.
var (
	bernoulliHead = []string{}
	signHead      = []string{"generator.head=sign", "generator.gain=1",
		"generator.width.unit=spread", "generator.width.start=0.5", "generator.width.final=0.05"}
	// The critical 16×16 lattice is not learned from a cold start.
	annealed = []string{"transition.anneal=0.3", "training.steps=5000"}
)

// invariant is a lattice too large to enumerate. The generator has all symmetries
// of the target, and the least-squares witness takes invariant features and one
// sweep of sampled moves.
func invariant(l int, beta string, head []string) Setting {
	return Setting{
		Name: fmt.Sprintf("ising-l%d-%s", l, beta), Title: fmt.Sprintf("Ising model, L = %d, β = %s, generator with the lattice's symmetry", l, beta), System: "ising",
		Assignments: append([]string{fmt.Sprintf("target.l=%d", l), "target.beta=" + beta, "generator.symmetry=z2+lattice",
			fmt.Sprintf("generator.latent=%d", l*l), "transition.proposal=single", fmt.Sprintf("transition.steps=%d", l*l),
			"transition.anneal=0", "training.schedule.warmup=0", "loss.average=sampled",
			"loss.witness.features=invariant", "loss.witness.ridge=1e-4", "loss.witness.every=1",
			"training.batch=1024", "training.steps=2000", "training.ema=0.99"}, head...),
		Presets: []string{"best"},
	}
}

// Names lists the settings.
func Names() []string {
	var names []string
	for _, s := range Settings {
		names = append(names, s.Name)
	}
	return names
}

// choose returns the settings of the given names, all if there are none.
func choose(names []string) ([]Setting, error) {
	if len(names) == 0 {
		return Settings, nil
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("unknown setting %q; the settings are %s", name, strings.Join(Names(), ", "))
		}
	}
	var chosen []Setting
	for _, s := range Settings {
		if slices.Contains(names, s.Name) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

func (s *Setting) has(preset string) bool {
	return s.Presets == nil || slices.Contains(s.Presets, preset)
}
