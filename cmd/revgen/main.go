// Command revgen trains generators of samples by reversibility, draws samples
// from them and verifies the mathematics. See "revgen help".
package main

import (
	"os"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr, revgen.Systems()...)) }
