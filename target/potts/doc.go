// Package potts is RevGen's system for sites of a few states each: Potts and clock models on
// the periodic square lattice, on any graph of a file, and general tables of pairs.
//
// The generator is that of package categories, whose density is known. What samples are
// compared with is the sum over all configurations where these are few; a sum site by site,
// that draws exact samples, where few sites stand between those summed out and those left;
// and chains beyond: of clusters of ferromagnetic Potts models, of replica exchange of others,
// with standard errors that the table states.
package potts
