// Package reproduce runs the settings of the paper's Section "Numerical
// Experiments" and compares the results with the paper's figures and the
// errors of as many exact samples.
//
// Each setting is a run directory of run.Train, so that an interrupted
// reproduction continues where it was. The package knows systems by their
// definitions only, but for the study protocol, which asks ising for distances; it
// stands above engine and, like it, knows no mathematics of any of them.
package reproduce

import (
	"fmt"

	"github.com/revgen/revgen/internal/lists"
)

// A Setting is one experiment: a system, and assignments to its presets.
type Setting struct {
	Name        string // as --only takes it
	Title       string
	System      string
	Assignments []string // key.path=value, after the preset's values
	// Presets are the presets that the setting is trained with; nil, as for the paper's own
	// settings, means all.
	Presets []string
	// Headline is the metric that stands for the setting in the first table.
	Headline string
	// Seeds bounds the seeds that are trained if no setting is asked for by its name, as the
	// largest lattices take long; 0 is no bound.
	Seeds int
	// Million has the preset best measured by a million samples, too. Their lower sampling floor
	// hides less of the generator's own error.
	Million bool
	// Published are errors of other methods than the paper's, from the
	// literature.
	Published []Published
}

// million is the number of samples that Setting.Million adds.
const million = 1_000_000

// Published is the error of a method other than the paper's.
type Published struct {
	Method string  `json:"method"`
	Target string  `json:"target"` // how the target differs from the setting's, in words
	Metric string  `json:"metric"`
	Error  float64 `json:"error"`
}

// Settings are the paper's four, and then those of our own.
var Settings = []Setting{
	{Name: "gmm", Title: "Gaussian mixture, d = 2", System: "gmm", Headline: "l2_density_error"},
	{Name: "hybrid", Title: "Balanced double wells, μ = 1, 9, 25", System: "hybrid", Headline: "mode_l1", Million: true},
	{Name: "ising-0.2", Title: "Ising model, L = 3, β = 0.2", System: "ising", Assignments: []string{"target.beta=0.2"},
		Headline: "total_variation", Million: true},
	{Name: "ising-0.5", Title: "Ising model, L = 3, β = 0.5", System: "ising", Assignments: []string{"target.beta=0.5"},
		Headline: "total_variation", Million: true},
	{Name: "gmm-realnvp", Title: "Gaussian mixture, d = 2, the paper's RealNVP by its log density", System: "gmm",
		Assignments: []string{"generator.kind=realnvp"}, Presets: []string{"best"}, Headline: "l2_density_error"},
	lattice(4, "0.28", "0.1"), lattice(4, "0.4407", "0.1"), lattice(4, "0.6", "0.1"),
	lattice(8, "0.28", "0"), lattice(8, "0.4407", "0"), lattice(8, "0.6", "0"),
	lattice(16, "0.28", "0"), lattice(16, "0.4407", "0"), lattice(16, "0.6", "0"),
	lattice(16, "0.4407", "0.1"), lattice(16, "0.6", "0.1"),
	lattice(32, "0.28", "0"), lattice(32, "0.4407", "0"), lattice(32, "0.6", "0"),
	lattice(64, "0.4407", "0"),
}

// lattice is a setting with a lattice larger than the paper's, without a field or in the
// literature's. On 4×4 spins, whose configurations can be counted, the headline is the total
// variation, which needs more samples than the paper draws. Up to 32 rows the energy's exact
// law is known.
func lattice(l int, beta, h string) Setting {
	s := Setting{
		Name: fmt.Sprintf("ising-l%d-%s", l, beta), Title: fmt.Sprintf("Ising model, L = %d, β = %s", l, beta), System: "ising",
		Assignments: []string{fmt.Sprintf("target.l=%d", l), "target.beta=" + beta}, Presets: []string{"best"},
	}
	s.Headline = "energy_histogram"
	if h != "0" {
		s.Name += "-field"
		s.Title += ", h = " + h
		s.Assignments = append(s.Assignments, "target.h="+h)
		s.Headline = "bond_histogram"
	}
	switch {
	case l == 4:
		s.Assignments = append(s.Assignments, fmt.Sprintf("evaluation.samples=%d", million))
		s.Headline, s.Published = "total_variation", publishedVariation(beta)
	case l == 32:
		s.Seeds = 3
	case l > 32:
		s.Headline, s.Seeds = "energy", 1
	}
	return s
}

// publishedVariation returns the total variations of masked diffusion (MDNS, arXiv 2508.10684)
// and of IEDG on the 4×4 lattice in the field 0.1.
func publishedVariation(beta string) []Published {
	tv := map[string][2]float64{"0.28": {0.0799, 0.0860}, "0.4407": {0.0789, 0.0630}, "0.6": {0.0418, 0.0314}}[beta]
	return []Published{
		{Method: "MDNS", Target: "the same target", Metric: "total_variation", Error: tv[0]},
		{Method: "IEDG", Target: "the same target", Metric: "total_variation", Error: tv[1]},
	}
}

// Names lists the settings.
func Names() []string { return lists.Map(Settings, func(s Setting) string { return s.Name }) }
