// Package density trains on targets of one's own, over real vectors and over a mode
// beside a vector: ln π as an expression, as an external program, or in Go.
//
// Reals and Mixed turn a target in Go into a definition for cmd.Main, and
// RealsDefinition and MixedDefinition are the systems that the configuration's
// target describes. docs/targets.md says how each is written.
//
//	config.go       the configuration
//	presets.go      the presets, and their adaptation to a target
//	target.go       ln π of batches, and errors about its values
//	coordinates.go  the coordinates in which a generator learns
//	pilot.go        short chains that find where the probability mass is
//	tails.go        rays and lines that show whether π can be normalised
//	system.go       the system, whose samples are in the target's coordinates
//	verify.go       checks of a target near its probability mass
//	metrics.go      the table, which compares averages with those of chains
//	figures.go      marginal laws, and the law of ln π
//	definition.go   registration
//
// A generator learns the coordinates y of the map x = f(c + s·y). In them the
// probability mass is around 0 with a scale of about 1, and no coordinate has a bound.
package density
