package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/revgen/revgen/internal/disk"
)

// A Writer writes one array. It holds exactly the bytes that its header
// promises: Write refuses more and Close refuses fewer.
type Writer struct {
	w    io.Writer
	size int64         // of the data
	left atomic.Int64  // of it, to be written
	file *os.File      // what Close closes, if anything
	temp *disk.Pending // what Close gives its name, if anything
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
	writer := &Writer{w: w, size: size}
	writer.left.Store(size)
	return writer, nil
}

// Create writes to a temporary file beside path, which Close moves there; where
// path is a symbolic link, to where it leads. Devices and pipes that exist under
// the name are written to directly, a pipe as soon as somebody reads it. Until
// then ctx can end the waiting. A disk that is known to be too small for the array is
// refused.
func Create(ctx context.Context, path string, h Header) (*Writer, error) {
	size, err := h.Size()
	if err != nil {
		return nil, err
	}
	path, err = disk.Follow(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		file, err := openSpecial(ctx, path)
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
	disk.Sweep(filepath.Dir(path), filepath.Base(path))
	if err := disk.Room(path, size); err != nil {
		return nil, err
	}
	temp, err := disk.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(temp, h)
	if err != nil {
		return nil, errors.Join(err, temp.Cleanup())
	}
	w.temp = temp
	return w, nil
}

// openSpecial opens a device or a pipe for writing.
func openSpecial(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if ctx.Err() != nil && err == nil {
			_ = file.Close() // too late
		}
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write appends data.
func (w *Writer) Write(p []byte) (int, error) {
	if left := w.left.Load(); int64(len(p)) > left {
		return 0, fmt.Errorf("npy: %d bytes more than the header promises", int64(len(p))-left)
	}
	for done := 0; ; {
		n, err := w.w.Write(p[done:min(len(p), done+atOnce)])
		w.left.Add(-int64(n))
		if done += n; err != nil || done == len(p) {
			return done, err
		}
	}
}

// atOnce is how many bytes are written before they are counted.
const atOnce = 1 << 18

// Written returns how many bytes of the array have been written, of how many.
// It may be called while Write waits.
func (w *Writer) Written() (n, size int64) { return w.size - w.left.Load(), w.size }

// Temporary reports whether nothing is seen of the array before Close.
func (w *Writer) Temporary() bool { return w.temp != nil }

// Close completes the file: its data and its name are on the disk when Close
// returns nil. After an error there is no file.
func (w *Writer) Close() error {
	if left := w.left.Load(); left > 0 {
		return errors.Join(fmt.Errorf("npy: %d bytes fewer than the header promises", left), w.Abort())
	}
	switch {
	case w.temp != nil:
		return w.temp.Commit()
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
