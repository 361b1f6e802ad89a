// Package cli is the command line of RevGen for any systems, those of package cmd's
// callers too.
//
// The suites of bench and the settings of reproduce are those of the systems that
// come with RevGen, and these two verbs are there where those are.
package cli
