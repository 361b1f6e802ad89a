package npy

import (
	"fmt"
	"io"
	"sync/atomic"
)

// A Writer writes one array. It holds exactly the bytes that its header
// promises: Write refuses more and Close refuses fewer.
type Writer struct {
	w    io.Writer
	size int64        // of the data
	left atomic.Int64 // of it, to be written
}

// NewWriter writes the header to w.
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

// Close reports data that are missing.
func (w *Writer) Close() error {
	if left := w.left.Load(); left > 0 {
		return fmt.Errorf("npy: %d bytes fewer than the header promises", left)
	}
	return nil
}
