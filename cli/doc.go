// Package cli is the command line of RevGen for any systems: a program of one's
// own whose targets have every verb.
//
//	func main() { cli.Main(ring.Definition) }
//
// The suites of bench and the settings of reproduce are those of the systems that
// come with RevGen, and these two verbs are there where those are.
package cli
