// Package long skips tests that take long: laws of long trainings, many kills,
// tables of the documentation. REVGEN_TEST_LONG=1 runs them. Any other number runs them with
// other random kills, damages and moments. REVGEN_TEST_TIMES=200 sets how many of these there are.
// With -short it also skips tests that take some tenths of a second.
package long

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Tests reports whether long tests are asked for.
func Tests() bool { return os.Getenv("REVGEN_TEST_LONG") != "" }

// Only skips a test unless long tests are asked for.
func Only(t testing.TB) {
	t.Helper()
	if !Tests() {
		t.Skip("long: REVGEN_TEST_LONG=1 asks for it")
	}
}

// SkipShort skips a test of some tenths of a second under -short, unless REVGEN_TEST_KERNELS=1 keeps
// all tests in which kernels take part: on other kernel paths and architectures, and under the race
// detector.
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

// Times is Or for the number of a random test's tries, unless REVGEN_TEST_TIMES sets it.
func Times(ordinary, long int) int {
	if times, err := strconv.Atoi(os.Getenv("REVGEN_TEST_TIMES")); err == nil {
		return times
	}
	return Or(ordinary, long)
}

// Rand returns the generator for random tests, another one for each value of REVGEN_TEST_LONG.
func Rand() *rand.Rand {
	seed, _ := strconv.ParseUint(os.Getenv("REVGEN_TEST_LONG"), 10, 64)
	return rand.New(rand.NewPCG(seed, 2))
}
