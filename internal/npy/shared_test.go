package npy

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Parts that are written in any order are the file that one process writes.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	h := Header{Descr: "'<u8'", Shape: []int{100, 3}}
	data := make([]byte, 2400)
	for i := range data {
		data[i] = byte(i * 7)
	}
	w, err := Create(context.Background(), filepath.Join(dir, "one.npy"), h)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())

	path := filepath.Join(dir, "parts.npy")
	first, err := CreateShared(path, h)
	require.NoError(t, err)
	second, err := OpenShared(first.Name(), h)
	require.NoError(t, err)
	first.Part(0, 1000)
	second.Part(1000, 1400)
	_, err = second.Write(data[1000:1700])
	require.NoError(t, err)
	_, err = first.Write(data[:1000])
	require.NoError(t, err)
	_, err = second.Write(data[1700:])
	require.NoError(t, err)
	_, err = second.Write(data[:1])
	require.EqualError(t, err, "npy: 1 bytes more than the part has")
	require.NoError(t, second.Done())
	require.NoError(t, first.Done())
	require.NoFileExists(t, path)
	require.NoError(t, first.Publish())
	want, err := os.ReadFile(filepath.Join(dir, "one.npy"))
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))

	// What ends before leaves the old file, and nothing beside it.
	first, err = CreateShared(path, h)
	require.NoError(t, err)
	_, err = OpenShared(first.Name(), Header{Descr: "'<u8'", Shape: []int{300}})
	require.ErrorContains(t, err, "does not begin with the header")
	_, err = OpenShared(filepath.Join(dir, "none"), h)
	require.ErrorIs(t, err, os.ErrNotExist)
	first.Part(0, 8)
	require.EqualError(t, first.Done(), "npy: 8 bytes fewer than the part has")
	second, err = OpenShared(first.Name(), h)
	require.NoError(t, err)
	require.NoError(t, second.Abort())
	_, err = first.Write(data[:8])
	require.ErrorIs(t, err, ErrDiscarded)
	require.Panics(t, func() { first.Part(2000, 401) })
	_ = first.Abort()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	_, err = CreateShared(pipe, h)
	require.ErrorContains(t, err, "is no regular file")
}
