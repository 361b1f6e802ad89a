package npy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// A Writer writes one array. It holds exactly the bytes that its header
// promises: Write refuses more and Close refuses fewer.
type Writer struct {
	w    io.Writer
	left int64
	file *os.File              // what Close syncs and closes, if anything
	temp *renameio.PendingFile // what Close renames, if anything
	path string
}

// NewWriter writes the header to w. Close does not close w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	size, err := h.Size()
	if err != nil {
		return nil, err
	}
	head, err := h.Append(nil)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(head); err != nil {
		return nil, err
	}
	return &Writer{w: w, left: size}, nil
}

// Create writes to a temporary file beside path, which Close moves there.
// Devices and pipes that exist under the name are written to directly.
func Create(path string, h Header) (*Writer, error) {
	if _, err := h.Size(); err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays a link
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		w, err := NewWriter(file, h)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		w.file = file
		return w, nil
	}
	temp, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(temp, h)
	if err != nil {
		return nil, errors.Join(err, temp.Cleanup())
	}
	w.temp, w.path = temp, path
	return w, nil
}

// Write appends data.
func (w *Writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		return 0, fmt.Errorf("npy: %d bytes more than the header promises", int64(len(p))-w.left)
	}
	n, err := w.w.Write(p)
	w.left -= int64(n)
	return n, err
}

// Close completes the file: its data and its name are on the disk when Close
// returns nil. After an error there is no file.
func (w *Writer) Close() error {
	if w.left > 0 {
		return errors.Join(fmt.Errorf("npy: %d bytes fewer than the header promises", w.left), w.Abort())
	}
	switch {
	case w.temp != nil:
		if err := w.temp.CloseAtomicallyReplace(); err != nil {
			return errors.Join(err, w.Abort())
		}
		w.temp = nil
		return syncDir(filepath.Dir(w.path))
	case w.file != nil:
		return w.file.Close()
	}
	return nil
}

// Abort discards the file. It does nothing after Close.
func (w *Writer) Abort() error {
	switch {
	case w.temp != nil:
		return w.temp.Cleanup()
	case w.file != nil:
		w.file.Close() // whoever reads the pipe sees it end early
	}
	return nil
}

// syncDir makes a rename in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
