//go:build unix

package table

import (
	"errors"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// A mapped file is in memory where it is being looked at.
type mapped struct {
	data []byte
	sum  byte  // of bytes of its pages, so that they are read
	free int64 // bytes from its beginning that are no longer held
}

// heldLen is how much of a file that has been looked at may stay: without a bound that
// is all of it, as far as who watches the process can tell.
const heldLen = 16 << 20

func mapFile(file *os.File, size int64) (*mapped, error) {
	if size == 0 {
		return &mapped{}, nil
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(data, unix.MADV_SEQUENTIAL) // an advice
	return &mapped{data: data}, nil
}

// part returns bytes of the file, from on from those of the call before, until the next
// call. Every page of them has been read: what is not there
// any longer is an error here and would end the process elsewhere.
func (m *mapped) part(from, to int64) (part []byte, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			part, err = nil, errors.New("the file has become shorter, or cannot be read")
		}
	}()
	if done := from / heldLen * heldLen; done > m.free {
		_ = unix.Madvise(m.data[m.free:done], unix.MADV_DONTNEED) // an advice
		m.free = done
	}
	part = m.data[from:to]
	var sum byte
	for i := 0; i < len(part); i += 4096 {
		sum ^= part[i]
	}
	if len(part) > 0 {
		sum ^= part[len(part)-1]
	}
	m.sum = sum
	return part, nil
}

func (m *mapped) close() error {
	if m.data == nil {
		return nil
	}
	return unix.Munmap(m.data)
}
