package memory

import "golang.org/x/sys/unix"

// hugeFrom is more than a large page, and more than Go packs with other objects.
const hugeFrom = 16 << 20

// Huge asks for large pages under memory that nothing has been written to yet: a
// gigabyte in pages of 4 kB takes a loaded machine seconds to give back when the process
// ends. It is an advice, for a length of many pages.
func Huge(b []byte) {
	if len(b) >= hugeFrom {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // so large an array begins with a page
	}
}
