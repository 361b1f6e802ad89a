package main

import (
	"math"
	"testing"
)

// Every target has a title, averages with deviations, and ln Z.
func TestKnown(t *testing.T) {
	for kind, name := range KnownKinds {
		for i := range 2 {
			k := NewKnown(3, kind, i)
			if k.Title == "" || len(k.Figures) == 0 || math.IsNaN(k.LogZ) {
				t.Errorf("%s %d: %+v", name, i, k)
			}
			for _, f := range k.Figures {
				if !(f.Deviation > 0) || math.IsNaN(f.Value) || math.IsInf(f.Deviation, 0) {
					t.Errorf("%s: %s is %v, deviation %v", k.Title, f.Name, f.Value, f.Deviation)
				}
			}
			t.Log(name, "|", k.Title)
		}
	}
}

// TestPosteriorsFarAway: a regression with a flat law of ln σ is neither +∞ nor NaN, however large
// or small its coordinates.
func TestPosteriorsFarAway(t *testing.T) {
	m := posteriorModels["regression"](&posteriorData{Rows: 62, Factor: [][]float64{{1, 2}, {3}}, Target: []float64{1, 2}, Rest: 70})
	for _, x := range [][]float64{{1286, 105, 1136}, {0, 0, -1136}, {0, 0, 710}, {1e30, -1e30, 300}} {
		if l := m.f(x, 0); math.IsNaN(l) || math.IsInf(l, 1) {
			t.Errorf("ln π of %v is %v", x, l)
		}
	}
}
