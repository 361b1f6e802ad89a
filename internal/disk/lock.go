package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A Lock is a directory that one process at a time owns, until it releases it or ends.
// The directory itself is locked, which nobody can remove from under its owner, and its
// file "lock", which says who that is: network file systems lock files across hosts, but
// directories on one host alone. What a process that was killed left is no obstacle.
type Lock struct{ dir, file *os.File }

// An Owner is whom a lock's file names.
type Owner struct {
	Host    string    `json:"host"`
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
}

// A HeldError reports a directory that another process owns.
type HeldError struct{ Owner }

func (e *HeldError) Error() string {
	if e.Process == 0 {
		return "in use by another process"
	}
	return fmt.Sprintf("in use by process %d on %s since %s", e.Process, e.Host, e.Since.Local().Format(time.DateTime))
}

// ErrNoLocks reports a file system that knows no locks.
var ErrNoLocks = errors.New("the file system has no locks")

const lockName = "lock"

// Own makes this process the only one that writes to a directory, and removes what one
// that was killed left of the named files, those that it is about to write. None of them
// may be a symbolic link, which would lead a write out of the directory. The error says
// which directory, and whom it belongs to; it is ErrNoLocks where nobody can tell.
func Own(dir string, names ...string) (*Lock, error) {
	l, err := lockDir(dir, names)
	var held *HeldError
	switch {
	case err == nil:
		RemoveTemporary(dir, names...)
		return l, nil
	case errors.Is(err, ErrNoLocks):
		return nil, fmt.Errorf("%s: %w: see to it that no second process uses this directory", dir, err)
	case errors.As(err, &held):
		return nil, fmt.Errorf("%s: %w; wait until it ends, or choose another directory", dir, held)
	}
	return nil, fmt.Errorf("%s: %w", dir, Cause(err))
}

func lockDir(dir string, names []string) (*Lock, error) {
	for _, name := range append([]string{lockName}, names...) {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a symbolic link; what is written here are files of the directory's own: remove the link, or move the file to its place", name)
		}
	}
	l := new(Lock)
	var err error
	if l.dir, err = os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	switch err := flock(l.dir); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errors.Join(&HeldError{owner(path)}, l.dir.Close())
	case err != nil && !lacksLocks(err):
		return nil, errors.Join(err, l.dir.Close())
	}
	if err := l.lockFile(path); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if err := l.sign(); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// lockFile opens and locks the file. Its former owner, on another host, may remove it
// meanwhile, which is no reason to try for ever.
func (l *Lock) lockFile(path string) error {
	const tries = 100
	for range tries {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0o644)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil {
			err = checkRegular(path, info)
		}
		if err == nil {
			err = flock(file)
		}
		switch {
		case err == nil && isSameFile(file, path):
			l.file = file
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			err = &HeldError{owner(path)}
		case err != nil && lacksLocks(err):
			err = ErrNoLocks
		}
		_ = file.Close()
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("its file " + lockName + " keeps being replaced")
}

// lockless reports whether an error says that there are no locks, on files of this kind.
func lacksLocks(err error) bool {
	kinds := []error{unix.ENOTSUP, unix.ENOSYS, unix.ENOLCK, unix.EBADF, unix.EINVAL}
	return slices.ContainsFunc(kinds, func(e error) bool { return errors.Is(err, e) })
}

func (l *Lock) sign() error {
	host, _ := os.Hostname()
	text, err := json.Marshal(Owner{host, os.Getpid(), time.Now().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(text, '\n'), 0)
	return err
}

// owner reads who holds a lock, for as long as it takes a process to sign; nobody if its
// file is gone.
func owner(path string) (o Owner) {
	for range 20 {
		file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if err != nil {
			return Owner{}
		}
		data, err := io.ReadAll(io.LimitReader(file, 1<<12))
		_ = file.Close()
		if err == nil && json.Unmarshal(data, &o) == nil {
			return o
		}
		time.Sleep(5 * time.Millisecond)
	}
	return Owner{}
}

// Release gives the directory up. A nil lock has nothing to give up.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	var err error
	if isSameFile(l.file, l.file.Name()) { // or somebody has removed it
		err = os.Remove(l.file.Name())
	}
	return errors.Join(err, l.close())
}

func (l *Lock) close() error {
	if l.file == nil {
		return l.dir.Close()
	}
	return errors.Join(l.file.Close(), l.dir.Close())
}

// flock locks an open file, or reports at once that it is locked.
func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err
		}
	}
}

// same reports whether path still names the open file.
func isSameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}
