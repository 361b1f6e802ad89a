//go:build unix

package score

import (
	"errors"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// A mapped file is in memory as far as it is looked at.
type mapped struct {
	data []byte
	sum  byte // of bytes of its pages, so that they are read
}

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

// part returns bytes of the file. Every page of them has been read: what is not there
// any longer is an error here and would end the process elsewhere.
func (m *mapped) part(from, to int64) (part []byte, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			part, err = nil, errors.New("the file has become shorter, or cannot be read")
		}
	}()
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
