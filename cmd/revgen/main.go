// Command revgen trains generators of samples by reversibility, draws samples
// from them and verifies the mathematics. See "revgen help".
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
