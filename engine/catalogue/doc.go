// Package catalogue makes configurations: of the systems that a program can train, of a
// preset whose recipe is for the target, of a text and of assignments key.path=value, which
// have the last word. What it returns is valid, and its errors name the place.
//
//	cfg, err := catalogue.Systems{ising.Definition}.Configure("ising", "best", "target.l=16")
package catalogue
