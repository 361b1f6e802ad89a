// Package disk reads and writes the program's own files so that nothing is
// lost and nothing foreign is waited for: files appear under their names whole
// or not at all and are on the disk when the call returns; only regular files
// of a sensible size are read; and a lock says who owns a directory.
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
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// Open opens a regular file for reading and returns its size. Pipes and
// devices, which may never end or never begin, are refused without waiting.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: Cause(err)}
	}
	if err := regular(path, info); err != nil {
		return nil, 0, err
	}
	// A file of a moment ago may be a pipe by now, which is not waited for.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	if info, err = file.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	file, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, tooLong(path, limit)
	}
	// Files grow, and those of /proc have no size.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLong(path, limit)
	}
	return data, err
}

func tooLong(path string, limit int64) error {
	return fmt.Errorf("%s: longer than %d bytes, which such a file never is", path, limit)
}

func regular(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "a special file"
	}
	return fmt.Errorf("%s: is %s; a regular file is needed", path, what)
}

// Follow returns where a path leads when it is a symbolic link, whether or not
// there is anything: writing there leaves the link as it is.
func Follow(path string) (string, error) {
	const most = 40 // as the kernel has it
	at := path
	for range most {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		next, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			// Not filepath.Join, which would take back a ".." that leads through a link.
			next = filepath.Dir(at) + string(filepath.Separator) + next
		}
		at = next
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// A Pending file is written beside its target and takes its name, or nothing,
// at the end. While it is open it is locked, so that what a killed process left
// can be told from what is being written.
type Pending struct {
	*renameio.PendingFile
	path             string
	written, started int64 // bytes, and those of them whose way to the disk has begun
}

// Create begins a file that Commit gives its name. Links are followed; the
// modes are those of the file that it replaces, or 0644 less the umask.
func Create(path string) (*Pending, error) {
	path, err := Follow(path)
	if err != nil {
		return nil, err
	}
	for {
		temp, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
			renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
		if err != nil {
			return nil, err
		}
		// Between its creation and its lock the file looks like one that was
		// left behind, and may have been swept away. Without locks, as on some
		// network file systems, nothing is swept.
		if err := flock(temp.File); err == nil && !same(temp.File, temp.Name()) {
			_ = temp.Close()
			continue
		}
		return &Pending{PendingFile: temp, path: path}, nil
	}
}

// writebackLen is how many bytes go to the disk at once while a file is being
// written: a checkpoint of a gigabyte is there soon after its last byte.
const writebackLen = 8 << 20

// Write implements io.Writer.
func (p *Pending) Write(data []byte) (int, error) {
	n, err := p.File.Write(data)
	p.written += int64(n)
	if length := p.written - p.started; length >= writebackLen {
		startWriteback(p.File, p.started, length)
		p.started = p.written
	}
	return n, err
}

// Commit puts the content on the disk and then the name. After an error there
// is no new file.
func (p *Pending) Commit() error {
	if err := p.CloseAtomicallyReplace(); err != nil {
		return errors.Join(err, p.Cleanup())
	}
	return SyncDir(filepath.Dir(p.path))
}

// Write replaces the content of path, which is the old or the new at any time.
func Write(path string, data []byte) error {
	write := func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
	return Replace(path, write, func() error { return nil })
}

// WriteJSON is Write of a value in indented JSON.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return Write(path, append(text, '\n'))
}

// Publish is Write, but does not wait for the disk: for what tells others of work that
// goes on. Whoever reads path finds the old content or the new, but after a loss of power
// perhaps neither.
func Publish(path string, data []byte) error {
	p, err := Create(path)
	if err != nil {
		return named(path, err)
	}
	if _, err = p.Write(data); err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		_ = p.Cleanup()
		return named(path, err)
	}
	return p.Close()
}

// Replace is Write of what write writes, and calls ready when that is on the
// disk and has only to get its name, which it does not get if either fails.
func Replace(path string, write func(io.Writer) error, ready func() error) error {
	p, err := Create(path)
	if err != nil {
		return named(path, err)
	}
	if err = write(p); err == nil {
		err = p.Sync()
	}
	if err != nil {
		_ = p.Cleanup()
		return named(path, err)
	}
	if err := ready(); err != nil {
		_ = p.Cleanup()
		return err
	}
	if err := p.Commit(); err != nil {
		return named(path, err)
	}
	return nil
}

// named names the file of an error, in place of the temporary file.
func named(path string, err error) error { return fmt.Errorf("writing %s: %w", path, Cause(err)) }

// Cause is an error without the name of a file.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Sweep removes what killed processes left beside the named files of a
// directory. What is still being written stays.
func Sweep(dir string, names ...string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is nothing to sweep, or the next write will say why
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !temporary(e.Name(), names) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if flock(file) == nil && same(file, path) {
			_ = os.Remove(path)
		}
		_ = file.Close()
	}
}

// temporary reports whether a name is that of a temporary file of one of names:
// a point, the name, and a number.
func temporary(name string, names []string) bool {
	return slices.ContainsFunc(names, func(target string) bool {
		number, ok := strings.CutPrefix(name, "."+target)
		return ok && number != "" && strings.Trim(number, "0123456789") == ""
	})
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
func same(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}
