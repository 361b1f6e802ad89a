// Package potts is RevGen's system for sites of a few states each: Potts and clock models on
// the periodic square lattice, on any graph of a file, and general tables of pairs.
//
// The generator is that of package categories, whose density is known. The reference is the sum
// over all configurations if these are few. It is a sum site by site, which draws exact samples, if
// tables stay small (categories.Summable). Otherwise it is chains, with standard errors that the
// table states: of cluster moves for ferromagnetic Potts models, of replica exchange for others.
package potts
