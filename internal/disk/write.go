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

// Follow returns the target of a path that is a symbolic link, whether or not it
// exists, and other paths as they are. Writing there leaves the link as it is.
func Follow(path string) (string, error) {
	const maxLinks = 40 // as in Linux
	target := path
	for range maxLinks {
		info, err := os.Lstat(target)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return target, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(target)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			// Not filepath.Join, which would take back a ".." that leads through a link.
			link = filepath.Dir(target) + string(filepath.Separator) + link
		}
		target = link
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// A Pending file is written beside its target. At the end it takes the target's name
// or is removed. It is locked while it is open, so that RemoveTemporary can tell files of
// killed processes from files that are being written.
type Pending struct {
	*renameio.PendingFile
	path             string
	written, started int64 // bytes written, and those of them whose writeback has begun
}

// Create begins a file that Commit gives its name. It follows links. The file's
// mode is that of the file that it replaces, or 0644 less the umask.
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
		// Between its creation and its lock the file looks like one of a killed
		// process, and may have been removed. Without locks, as on some network
		// file systems, RemoveTemporary removes nothing.
		if err := flock(temp.File); err == nil && !isSameFile(temp.File, temp.Name()) {
			_ = temp.Close()
			continue
		}
		return &Pending{PendingFile: temp, path: path}, nil
	}
}

// writebackLen is how many bytes go to the disk at once while a file is being
// written, so that little is left to write when a large checkpoint is complete.
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

// Commit puts the content on the disk, and then gives the file its name. After an
// error there is no new file.
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

// Publish is Write that does not wait for the disk, for files that report progress. A
// reader finds the old content or the new, but perhaps neither after a loss of power.
func Publish(path string, data []byte) error {
	p, err := Create(path)
	if err != nil {
		return writeError(path, err)
	}
	if _, err = p.Write(data); err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		_ = p.Cleanup()
		return writeError(path, err)
	}
	return p.Close()
}

// Replace is Write of the content that write writes. It calls ready when the content
// is on the disk, and then gives the file its name. If write or ready fails there is no
// new file.
func Replace(path string, write func(io.Writer) error, ready func() error) error {
	p, err := Create(path)
	if err != nil {
		return writeError(path, err)
	}
	if err = write(p); err == nil {
		err = p.Sync()
	}
	if err != nil {
		_ = p.Cleanup()
		return writeError(path, err)
	}
	if err := ready(); err != nil {
		_ = p.Cleanup()
		return err
	}
	if err := p.Commit(); err != nil {
		return writeError(path, err)
	}
	return nil
}

// writeError returns an error that names path in place of the temporary file.
func writeError(path string, err error) error { return fmt.Errorf("writing %s: %w", path, Cause(err)) }

// Cause returns an error without the name of a file.
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

// RemoveTemporary removes temporary files of the named files in a directory that killed
// processes have left. Files that are being written stay.
func RemoveTemporary(dir string, names ...string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the next write reports the error
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTemporary(e.Name(), names) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if flock(file) == nil && isSameFile(file, path) {
			_ = os.Remove(path)
		}
		_ = file.Close()
	}
}

// isTemporary reports whether a name is that of a temporary file of one of names:
// a point, the name, and a number.
func isTemporary(name string, names []string) bool {
	return slices.ContainsFunc(names, func(target string) bool {
		number, ok := strings.CutPrefix(name, "."+target)
		return ok && number != "" && strings.Trim(number, "0123456789") == ""
	})
}
