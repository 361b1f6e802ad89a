package asm

import (
	"fmt"
	"os"
	"strings"
)

// EnvISA names the environment variable that forces a kernel path.
const EnvISA = "REVGEN_ISA"

// A Path is one of the implementations that every kernel has.
type Path uint8

// The kernel paths, in order of preference.
const (
	Generic Path = iota // portable Go
	AVX2                // AVX2, FMA, BMI2 and POPCNT
	AVX512              // AVX-512 F, BW, DQ and VL, and all that AVX2 needs
)

var pathNames = [...]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512"}

// String returns the name that REVGEN_ISA and --isa take.
func (p Path) String() string {
	if int(p) < len(pathNames) {
		return pathNames[p]
	}
	return fmt.Sprintf("Path(%d)", uint8(p))
}

// ParsePath returns the path of the given name: generic, avx2 or avx512.
func ParsePath(name string) (Path, error) {
	for p, n := range pathNames {
		if n == name {
			return Path(p), nil
		}
	}
	return Generic, fmt.Errorf("asm: unknown kernel path %q; the paths are %s", name, strings.Join(pathNames[:], ", "))
}

// A Feature is a CPU capability that some kernel path needs.
type Feature struct {
	Name    string
	Present bool
	Path    Path // the path that needs it
}

var (
	best   Path   // the best path that the machine supports
	active Path   // the path in use
	reason string // why it is in use
	envErr error  // what was wrong with REVGEN_ISA
)

func init() {
	best = detect()
	set(best, "best path that the CPU supports")
	if name := os.Getenv(EnvISA); name != "" {
		p, err := ParsePath(name)
		if err == nil {
			err = Use(p)
		}
		if err != nil {
			envErr = fmt.Errorf("%s: %w", EnvISA, err)
			return
		}
		reason = EnvISA + "=" + name
	}
}

func set(p Path, why string) {
	active, reason = p, why
	branch(p)
}

// Active returns the path in use and why it was chosen. The error reports a
// value of REVGEN_ISA that could not be honoured.
func Active() (p Path, why string, err error) { return active, reason, envErr }

// Supported returns the paths that this machine and build can run, generic
// first.
func Supported() []Path {
	var all []Path
	for p := Generic; p <= best; p++ {
		all = append(all, p)
	}
	return all
}

// Use forces a path. It must not be called while kernels run.
func Use(p Path) error {
	if p > best {
		return fmt.Errorf("asm: path %v is not supported here; the best is %v", p, best)
	}
	set(p, "forced by the program")
	return nil
}

// Features lists what detection looked for and found, in the order in which
// the paths need it. It is empty in builds without assembly.
func Features() []Feature { return features() }
