package asm

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// envRequire names the variable that lists the paths, separated by commas,
// that must be tested: a machine that cannot run one of them fails.
const envRequire = "REVGEN_TEST_REQUIRE"

// forEachPath runs a subtest under each path that the machine supports, with -short
// under the one in use alone, and restores the path in use.
func forEachPath(t *testing.T, f func(t *testing.T, path Path)) {
	t.Helper()
	before, why, _ := Active()
	defer activate(before, why)
	paths := Supported()
	if testing.Short() {
		paths = []Path{before}
	}
	if names := os.Getenv(envRequire); names != "" {
		for name := range strings.SplitSeq(names, ",") {
			path, err := ParsePath(strings.TrimSpace(name))
			require.NoError(t, err, envRequire)
			require.Contains(t, paths, path, "%s asks for a path that is not tested here", envRequire)
		}
	}
	for _, path := range paths {
		require.NoError(t, Use(path))
		active, _, _ := Active()
		require.Equal(t, path, active)
		t.Run(path.String(), func(t *testing.T) { f(t, path) })
	}
}

// requireRefusal requires a check to refuse a call, and not what is read beyond an end.
func requireRefusal(t *testing.T, call func(), of ...any) {
	t.Helper()
	defer func() {
		why := recover()
		text, _ := why.(string)
		require.True(t, strings.HasPrefix(text, "asm: "), "%v: %v", of, why)
	}()
	call()
}

// benchEachPath is forEachPath for benchmarks.
func benchEachPath(b *testing.B, f func(b *testing.B, path Path)) {
	before, why, _ := Active()
	defer activate(before, why)
	for _, path := range slices.Backward(Supported()) {
		require.NoError(b, Use(path))
		b.Run("path="+path.String(), func(b *testing.B) { f(b, path) })
	}
}

// number is what guarded buffers hold: plain machine words.
type number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int32 | ~int64 | ~float32 | ~float64
}

// A guarded buffer is a slice with guard bytes before and after it that a
// kernel must not change. The slice is deliberately not aligned to a vector.
type guarded[T number] struct {
	data []T
	all  []byte
	n    int // bytes of data
}

const guardBytes = 136 // more than a cache line, and not a multiple of a vector

func newGuarded[T number](n int) guarded[T] {
	size := n * int(unsafe.Sizeof(T(0)))
	words := make([]uint64, (2*guardBytes+size+7)/8)
	all := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	g := guarded[T]{
		data: unsafe.Slice((*T)(unsafe.Pointer(&all[guardBytes])), n),
		all:  all,
		n:    size,
	}
	for i := range g.all {
		if i < guardBytes || i >= guardBytes+size {
			g.all[i] = guardByte(i)
		}
	}
	return g
}

// guardedCopy returns a guarded buffer that holds a copy of src.
func guardedCopy[T number](src []T) guarded[T] {
	g := newGuarded[T](len(src))
	copy(g.data, src)
	return g
}

func guardByte(i int) byte { return byte(0xa5 ^ i) }

// check fails the test if a guard byte changed.
func (g guarded[T]) check(t testing.TB) {
	t.Helper()
	for i, have := range g.all {
		if (i < guardBytes || i >= guardBytes+g.n) && have != guardByte(i) {
			require.FailNow(t, "guard overwritten", "byte %d of a buffer of %d", i-guardBytes, g.n)
		}
	}
}
