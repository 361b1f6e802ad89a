// Command revgen trains generators of samples by reversibility, draws samples
// from them and verifies the mathematics. See "revgen help".
package main

import (
	"github.com/revgen/revgen"
	"github.com/revgen/revgen/cmd"
)

func main() { cmd.Main(revgen.Systems()...) }
