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
