// Package measure says how good samples are: the table of an evaluation, each of whose rows
// stands beside the error that as many exact samples have, and the importance weights of a
// generator whose density is known, with what they are worth. It knows numbers alone:
// what they are of is said by who asks.
package measure
