// Package measure says how good samples are. It makes the table of an evaluation, where each
// row stands beside the error that as many exact samples have. It judges the importance
// weights of a generator whose density is known. It knows numbers alone; its callers say what
// these are.
package measure
