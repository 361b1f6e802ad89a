package npy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/revgen/revgen/internal/disk"
)

// A Shared file is one array. Several processes write parts of it at the same time. One of
// them creates it, under a temporary name that the others open, and publishes it when all
// have written their parts.
type Shared struct {
	file      *os.File
	pending   *disk.Pending // nil unless this process created the file
	name      string        // of the temporary file
	headerLen int64         // bytes before the data
	size      int64         // bytes of data

	offset, remaining int64 // in the file, and of this process's part, for the next Write
	incomplete        bool  // an earlier part was not written to its end
}

// CreateShared begins a file that Publish gives the name path. Devices and pipes, which have no
// parts, are an error, and so is a disk that is known to be too small.
func CreateShared(path string, h Header) (*Shared, error) {
	s, head, err := newShared(h)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, of which processes could write parts", path)
	}
	if s.pending, err = disk.Begin(path, s.size); err != nil {
		return nil, err
	}
	s.file = s.pending.File
	if s.name, err = filepath.Abs(s.pending.Name()); err == nil {
		if _, err = s.file.WriteAt(head, 0); err == nil {
			err = s.file.Truncate(s.headerLen + s.size)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// OpenShared opens a file that another process has created, by its Name.
func OpenShared(name string, h Header) (*Shared, error) {
	s, head, err := newShared(h)
	if err != nil {
		return nil, err
	}
	s.name = name
	if s.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	found := make([]byte, len(head))
	if _, err := io.ReadFull(s.file, found); err != nil || string(found) != string(head) {
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
	return &Shared{headerLen: int64(len(head)), size: size}, head, err
}

// Name returns the name of the temporary file.
func (s *Shared) Name() string { return s.name }

// Part sets the part that Write writes: size bytes of the data from offset on. A process may
// have several parts, one after another.
func (s *Shared) Part(offset, size int64) {
	if offset < 0 || size < 0 || offset > s.size-size {
		panic(fmt.Sprintf("npy: bytes %d to %d of %d", offset, offset+size, s.size))
	}
	s.incomplete = s.incomplete || s.remaining > 0
	s.offset, s.remaining = s.headerLen+offset, size
}

// ErrDiscarded is returned by Write after another process has discarded the file.
var ErrDiscarded = errors.New("npy: another process has discarded the file")

// Write appends to the part.
func (s *Shared) Write(p []byte) (int, error) {
	if _, err := os.Lstat(s.name); errors.Is(err, os.ErrNotExist) {
		return 0, ErrDiscarded
	}
	if int64(len(p)) > s.remaining {
		return 0, fmt.Errorf("npy: %d bytes more than the part has", int64(len(p))-s.remaining)
	}
	n, err := s.file.WriteAt(p, s.offset)
	s.offset, s.remaining = s.offset+int64(n), s.remaining-int64(n)
	return n, err
}

// Done puts the parts on the disk. It is an error if a part has not been written to its end. It
// closes the file unless this process has created it.
func (s *Shared) Done() error {
	var err error
	if s.incomplete {
		err = errors.New("npy: a part is not whole")
	} else if s.remaining > 0 {
		err = fmt.Errorf("npy: %d bytes fewer than the part has", s.remaining)
	} else {
		err = s.file.Sync()
	}
	if s.pending == nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// Publish gives the file its name. After an error there is no file. The process that created the
// file calls it, after Done of all processes.
func (s *Shared) Publish() error { return s.pending.Commit() }

// Abort discards the file for all processes.
func (s *Shared) Abort() error {
	if s.pending != nil {
		return s.pending.Cleanup()
	}
	s.file.Close()
	if err := os.Remove(s.name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
