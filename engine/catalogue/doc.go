// Package catalogue makes valid configurations of the systems that a program can train. They
// come from a preset, whose recipe is for the target, from a text, and from assignments
// key.path=value, which have the last word. Errors name the place.
//
//	cfg, err := catalogue.Systems{ising.Definition}.Configure("ising", "best", "target.l=16")
package catalogue
