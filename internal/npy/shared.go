package npy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/revgen/revgen/internal/disk"
)

// A Shared file is one array that several processes write side by side, each a part of
// its own. One of them creates it, under a temporary name that the others open, and
// gives it its name when all have written theirs.
type Shared struct {
	file *os.File
	temp *disk.Pending // of the process that created it
	name string        // of the temporary file
	head int64         // bytes before the data
	size int64         // of the data

	at, left int64 // of this process's part
	short    bool  // a part before it was not whole
}

// CreateShared begins a file that is to be path. Devices and pipes, which have no
// parts, and a disk that is known to be too small, are refused.
func CreateShared(path string, h Header) (*Shared, error) {
	s, head, err := newShared(h)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, of which processes could write parts", path)
	}
	if s.temp, err = disk.Begin(path, s.size); err != nil {
		return nil, err
	}
	s.file = s.temp.File
	if s.name, err = filepath.Abs(s.temp.Name()); err == nil {
		if _, err = s.file.WriteAt(head, 0); err == nil {
			err = s.file.Truncate(s.head + s.size)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// OpenShared opens what another process has created, by its Name.
func OpenShared(name string, h Header) (*Shared, error) {
	s, head, err := newShared(h)
	if err != nil {
		return nil, err
	}
	s.name = name
	if s.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	there := make([]byte, len(head))
	if _, err := io.ReadFull(s.file, there); err != nil || string(there) != string(head) {
		return nil, errors.Join(fmt.Errorf("%s does not begin with the header of this array", name), s.file.Close())
	}
	return s, nil
}

func newShared(h Header) (*Shared, []byte, error) {
	size, err := h.Size()
	if err != nil {
		return nil, nil, err
	}
	head, err := h.Append(nil)
	return &Shared{head: int64(len(head)), size: size}, head, err
}

// Name returns the temporary file's.
func (s *Shared) Name() string { return s.name }

// Part sets what Write writes: size bytes of the data from offset on. A process may
// have several parts, one after another.
func (s *Shared) Part(offset, size int64) {
	if offset < 0 || size < 0 || offset > s.size-size {
		panic(fmt.Sprintf("npy: bytes %d to %d of %d", offset, offset+size, s.size))
	}
	s.short = s.short || s.left > 0
	s.at, s.left = s.head+offset, size
}

// ErrDiscarded is returned by Write after another process has discarded the file.
var ErrDiscarded = errors.New("npy: another process has discarded the file")

// Write appends to the part.
func (s *Shared) Write(p []byte) (int, error) {
	if _, err := os.Lstat(s.name); errors.Is(err, os.ErrNotExist) {
		return 0, ErrDiscarded
	}
	if int64(len(p)) > s.left {
		return 0, fmt.Errorf("npy: %d bytes more than the part has", int64(len(p))-s.left)
	}
	n, err := s.file.WriteAt(p, s.at)
	s.at, s.left = s.at+int64(n), s.left-int64(n)
	return n, err
}

// Done puts the parts, which must be whole, on the disk. Where the process has not
// created the file, it closes it.
func (s *Shared) Done() error {
	var err error
	if s.short {
		err = errors.New("npy: a part is not whole")
	} else if s.left > 0 {
		err = fmt.Errorf("npy: %d bytes fewer than the part has", s.left)
	} else {
		err = s.file.Sync()
	}
	if s.temp == nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// Publish gives the file its name, which it has when Publish returns nil; after an
// error there is no file. The process that created it calls it, after all are done.
func (s *Shared) Publish() error { return s.temp.Commit() }

// Abort discards the file, for all processes.
func (s *Shared) Abort() error {
	if s.temp != nil {
		return s.temp.Cleanup()
	}
	s.file.Close()
	if err := os.Remove(s.name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
