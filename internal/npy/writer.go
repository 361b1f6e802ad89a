package npy

import (
	"fmt"
	"io"
	"sync/atomic"
)

// A Writer writes one array, of exactly the length that its header promises:
// more data are an error of Write, and fewer an error of Close.
type Writer struct {
	w         io.Writer
	size      int64        // bytes of data
	remaining atomic.Int64 // bytes of data to be written
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
	writer.remaining.Store(size)
	return writer, nil
}

// Write appends data.
func (w *Writer) Write(p []byte) (int, error) {
	if remaining := w.remaining.Load(); int64(len(p)) > remaining {
		return 0, fmt.Errorf("npy: %d bytes more than the header promises", int64(len(p))-remaining)
	}
	for written := 0; ; {
		n, err := w.w.Write(p[written:min(len(p), written+maxChunk)])
		w.remaining.Add(-int64(n))
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// maxChunk is how many bytes Write writes at once, before it counts them.
const maxChunk = 1 << 18

// Written returns how many bytes of the array have been written, and its size.
// It may be called while Write waits.
func (w *Writer) Written() (n, size int64) { return w.size - w.remaining.Load(), w.size }

// Close returns an error if data are missing.
func (w *Writer) Close() error {
	if remaining := w.remaining.Load(); remaining > 0 {
		return fmt.Errorf("npy: %d bytes fewer than the header promises", remaining)
	}
	return nil
}
