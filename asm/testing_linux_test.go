package asm

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// endOfPage returns a function that hands out slices of up to limit elements,
// all in one buffer, that end where an unmapped page begins: reading or
// writing beyond the end is a fault. Each call clears and hands out the same
// memory again.
func endOfPage[T number](t testing.TB, limit int) func(n int) []T {
	t.Helper()
	page := unix.Getpagesize()
	size := int(unsafe.Sizeof(T(0)))
	body := (limit*size + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, body+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	require.NoError(t, unix.Mprotect(memory[body:], unix.PROT_NONE))
	return func(n int) []T {
		require.LessOrEqual(t, n, limit)
		if n == 0 {
			return nil
		}
		data := unsafe.Slice((*T)(unsafe.Pointer(&memory[body-n*size])), n)
		clear(data)
		return data
	}
}
