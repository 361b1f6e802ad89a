package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A Lock is held by one process at a time, until it releases it or ends. The
// file of a process that was killed is no obstacle.
type Lock struct {
	file *os.File
	path string
}

// An Owner is whom a lock's file names.
type Owner struct {
	Host    string    `json:"host"`
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
}

// A HeldError reports a lock that another process holds.
type HeldError struct{ Owner }

func (e *HeldError) Error() string {
	if e.Process == 0 {
		return "in use by another process"
	}
	return fmt.Sprintf("in use by process %d on %s since %s", e.Process, e.Host, e.Since.Local().Format(time.DateTime))
}

// ErrNoLocks reports a file system that knows no locks.
var ErrNoLocks = errors.New("the file system has no locks")

// Acquire takes the lock at path and writes into it whose it is. The error is a
// *HeldError if another process holds it.
func Acquire(path string) (*Lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NONBLOCK, 0o644)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err == nil {
			err = regular(path, info)
		}
		if err == nil {
			err = flock(file)
		}
		switch {
		case err == nil && !same(file, path):
			_ = file.Close() // its former owner removed it meanwhile
			continue
		case err == nil:
			l := &Lock{file, path}
			if err := l.sign(info.Size()); err != nil {
				return nil, errors.Join(named(path, err), l.Release())
			}
			return l, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			err = &HeldError{owner(file)}
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
			err = ErrNoLocks
		}
		_ = file.Close()
		return nil, err
	}
}

// Own makes this process the only one that writes to a directory. The error says
// which directory, and whom it belongs to; it is ErrNoLocks where nobody can tell.
func Own(dir string) (*Lock, error) {
	lock, err := Acquire(filepath.Join(dir, "lock"))
	var held *HeldError
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, ErrNoLocks):
		return nil, fmt.Errorf("%s: %w: see to it that no second process uses this directory", dir, err)
	case errors.As(err, &held):
		return nil, fmt.Errorf("%s: %w; wait until it ends, or choose another directory", dir, held)
	}
	return nil, fmt.Errorf("%s: %w", dir, Cause(err))
}

// sign writes the owner into a file of so many bytes.
func (l *Lock) sign(size int64) error {
	host, _ := os.Hostname()
	text, err := json.Marshal(Owner{host, os.Getpid(), time.Now().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if size > 0 {
		if err := l.file.Truncate(0); err != nil {
			return err
		}
	}
	_, err = l.file.WriteAt(append(text, '\n'), 0)
	return err
}

// owner reads who holds a lock, for as long as it takes a process to sign.
func owner(file *os.File) (o Owner) {
	for range 20 {
		data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<12))
		if err == nil && json.Unmarshal(data, &o) == nil {
			return o
		}
		time.Sleep(5 * time.Millisecond)
	}
	return Owner{}
}

// Release gives the lock up. A nil lock has nothing to give up.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	return errors.Join(os.Remove(l.path), l.file.Close())
}
