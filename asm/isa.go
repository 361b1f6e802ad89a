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
	bestPath     Path   // the best path that the machine supports
	activePath   Path   // the path in use
	activeReason string // why activePath is in use
	envErr       error  // what was wrong with REVGEN_ISA
)

func init() {
	bestPath = detect()
	activate(bestPath, "best path that the CPU supports")
	if name := os.Getenv(EnvISA); name != "" {
		p, err := ParsePath(name)
		if err == nil {
			err = Use(p)
		}
		if err != nil {
			envErr = fmt.Errorf("%s: %w", EnvISA, err)
			return
		}
		activeReason = EnvISA + "=" + name
	}
}

func activate(p Path, why string) {
	activePath, activeReason = p, why
	setBranches(p)
}

// Active returns the path in use and why it was chosen. The error reports a
// value of REVGEN_ISA that could not be honoured.
func Active() (p Path, why string, err error) { return activePath, activeReason, envErr }

// Supported returns the paths that this machine and build can run, generic
// first.
func Supported() []Path {
	var paths []Path
	for p := Generic; p <= bestPath; p++ {
		paths = append(paths, p)
	}
	return paths
}

// Use forces a path. It must not be called while kernels run.
func Use(p Path) error {
	if p > bestPath {
		return fmt.Errorf("asm: path %v is not supported here; the best is %v", p, bestPath)
	}
	activate(p, "forced by the program")
	return nil
}

// Features lists what detection looked for and found, in the order in which
// the paths need it. It is empty in builds without assembly.
func Features() []Feature { return features() }
