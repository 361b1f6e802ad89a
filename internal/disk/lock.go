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

// A Lock is a directory that one process at a time owns, until it releases it or ends, even by
// a kill. Both the directory and its file "lock" are locked. Nobody can remove the directory
// under its owner. The file names the owner, and its lock works across hosts: network file
// systems lock directories on one host alone.
type Lock struct{ dir, file *os.File }

// An Owner is the process that a lock's file names.
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

// Own makes this process the only one that writes to a directory. names are the files that it
// is going to write: Own removes temporary files of theirs that killed processes have left. None
// of the names may be a symbolic link, which would lead a write out of the directory. The error
// names the directory and its owner. It is ErrNoLocks on a file system without locks.
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

// lockFile opens and locks the file. It tries again, a limited number of times, if a former
// owner on another host removes the file meanwhile.
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

// lacksLocks reports whether an error says that the file system cannot lock such a file.
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

// owner reads who holds a lock. It waits while a new owner signs the file. The result is zero if
// the file does not exist or has no signature.
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

// Release gives up the directory. A nil lock does nothing.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	var err error
	if isSameFile(l.file, l.file.Name()) { // nobody has removed it
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

// flock locks an open file, or returns EWOULDBLOCK at once if another process has locked it.
func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err
		}
	}
}

// isSameFile reports whether path still names the open file.
func isSameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}
