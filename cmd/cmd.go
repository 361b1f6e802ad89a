// Package cmd is the command line of RevGen for systems of one's own: a program whose
// targets have every verb.
//
//	func main() { cmd.Main(ring.Definition) }
package cmd

import (
	"os"

	"github.com/revgen/revgen/cmd/internal/signals"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/cli"
)

// Main runs the program's command line for the given systems, the default first, and ends
// the process.
func Main(systems ...engine.Definition) {
	cli.Signals = signals.Received
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr, systems...))
}
