//go:build !unix

package table

import "os"

// A mapped file is read part by part where files cannot be mapped.
type mapped struct {
	file   *os.File
	buffer []byte
}

func mapFile(file *os.File, _ int64) (*mapped, error) { return &mapped{file: file}, nil }

// part returns bytes of the file until the next call.
func (m *mapped) part(from, to int64) ([]byte, error) {
	m.buffer = append(m.buffer[:0], make([]byte, to-from)...)
	_, err := m.file.ReadAt(m.buffer, from)
	return m.buffer, err
}

func (m *mapped) close() error { return nil }
