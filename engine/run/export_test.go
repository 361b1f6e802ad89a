package run

import (
	"time"

	"github.com/revgen/revgen/engine"
)

// SetSeconds changes the time of training in a checkpoint.
func SetSeconds(path string, seconds float64) error {
	return rewrite(path, func(h *header) { h.Seconds = seconds })
}

// SetPath changes the kernel path in a checkpoint.
func SetPath(path, kernels string) error {
	return rewrite(path, func(h *header) { h.Path = kernels })
}

// ActivePath returns that of this process.
func ActivePath() string { return activePath() }

// rewrite changes the header of a checkpoint.
func rewrite(path string, change func(h *header)) error {
	h, data, err := readFile(path, "checkpoint")
	if err != nil {
		return err
	}
	sections := make([]engine.Section, len(h.Sections))
	for i, s := range h.Sections {
		sections[i] = engine.Section{Name: s.Name, Float32: make([]float32, s.Len)}
		if s.Type == "float64" {
			sections[i] = engine.Section{Name: s.Name, Float64: make([]float64, s.Len)}
		}
	}
	if err := fill(path, h, data, sections); err != nil {
		return err
	}
	h.Sections = nil
	change(h)
	return writeFile(path, *h, sections)
}

// Seconds returns the time of training in a checkpoint.
func Seconds(path string) (float64, error) {
	h, _, err := readFile(path, "checkpoint")
	if err != nil {
		return 0, err
	}
	return h.Seconds, nil
}

// SetStatusEvery sets how long a status stands, and returns what sets it back.
func SetStatusEvery(d time.Duration) (undo func()) {
	before := statusEvery
	statusEvery = d
	return func() { statusEvery = before }
}

// Reports returns what a run tells of warnings, and what it keeps.
func Reports(warnings []string) (told, kept []string) {
	r := &run{Options: Options{Warning: func(w string) { told = append(told, w) }}}
	for _, w := range warnings {
		r.report(w)
	}
	return told, r.warnings
}

// SetWorthKeeping sets how long a placing has to take to be kept, and returns what sets it back.
func SetWorthKeeping(d time.Duration) (undo func()) {
	before := worthKeeping
	worthKeeping = d
	return func() { worthKeeping = before }
}
