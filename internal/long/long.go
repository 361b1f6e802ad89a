// Package long holds back tests that take long: laws of long trainings, many kills,
// tables of the documentation. REVGEN_TEST_LONG=1 asks for them; any other number does so with
// other random kills, damages and moments. REVGEN_TEST_TIMES=200 asks for so many of them.
// With -short it holds back what takes some tenths of a second, too.
package long

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Tests reports whether long tests are asked for.
func Tests() bool { return os.Getenv("REVGEN_TEST_LONG") != "" }

// Only skips a test unless long ones are asked for.
func Only(t testing.TB) {
	t.Helper()
	if !Tests() {
		t.Skip("long: REVGEN_TEST_LONG=1 asks for it")
	}
}

// SkipShort skips a test of some tenths of a second under -short, but not where -short is to
// keep what kernels take part in (REVGEN_TEST_KERNELS=1): on other kernel paths, architectures
// and under the race detector.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Short() && os.Getenv("REVGEN_TEST_KERNELS") == "" {
		t.Skip("takes some tenths of a second")
	}
}

// Or returns the first value, or the second where long tests are asked for.
func Or[T any](ordinary, long T) T {
	if Tests() {
		return long
	}
	return ordinary
}

// Times is Or for how often a random test tries; REVGEN_TEST_TIMES says otherwise.
func Times(ordinary, long int) int {
	if times, err := strconv.Atoi(os.Getenv("REVGEN_TEST_TIMES")); err == nil {
		return times
	}
	return Or(ordinary, long)
}

// Rand draws what random tests do, otherwise for each value of REVGEN_TEST_LONG.
func Rand() *rand.Rand {
	seed, _ := strconv.ParseUint(os.Getenv("REVGEN_TEST_LONG"), 10, 64)
	return rand.New(rand.NewPCG(seed, 2))
}
