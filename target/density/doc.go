// Package density trains on targets of one's own, over real vectors and over a mode
// beside a vector: ln π as an expression, as an external program, or in Go.
//
// Reals and Mixed turn a target in Go into a definition for cmd.Main, and
// RealsDefinition and MixedDefinition are the systems that the configuration's
// target describes. docs/targets.md says how each is written.
//
//	config.go       the configuration, and the recipe for a target
//	target.go       ln π of batches, and what is wrong with it
//	coordinates.go  the coordinates in which a generator learns
//	pilot.go        where a target's weight is, by short chains
//	system.go       what the kits' systems lack: samples in the target's coordinates
//	metrics.go      the table: averages beside those of chains
//	figures.go      marginal laws, ln π
//	definition.go   registration
//
// A generator learns y of the map x = f(c + s·y), coordinate by coordinate, in which
// the weight is about 0 with a scale of about 1 and no coordinate has a bound.
package density
