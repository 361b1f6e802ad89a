package npy

import (
	"bytes"
	"fmt"
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
	var want bytes.Buffer
	w, err := NewWriter(&want, h)
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
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got))

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
	require.Len(t, entries, 1)

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	_, err = CreateShared(pipe, h)
	require.ErrorContains(t, err, "is no regular file")
}

// TestPartsOfShared: a process may have several parts, each of which has to be whole, within
// the data.
func TestPartsOfShared(t *testing.T) {
	h := Header{Descr: "'|i1'", Shape: []int{10}}
	path := filepath.Join(t.TempDir(), "a.npy")
	s, err := CreateShared(path, h)
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(s.Name()))
	info, err := os.Stat(s.Name())
	require.NoError(t, err)
	require.EqualValues(t, 128+10, info.Size(), "it has its length from the beginning")
	for _, part := range [][2]int64{{-1, 2}, {0, -1}, {9, 2}, {0, 11}, {11, 0}} {
		require.PanicsWithValue(t, fmt.Sprintf("npy: bytes %d to %d of 10", part[0], part[0]+part[1]), func() { s.Part(part[0], part[1]) })
	}
	s.Part(8, 2)
	_, err = s.Write([]byte{8, 9})
	require.NoError(t, err)
	s.Part(10, 0)
	s.Part(0, 8)
	_, err = s.Write([]byte{0, 1, 2, 3})
	require.NoError(t, err)
	_, err = s.Write([]byte{4, 5, 6, 7})
	require.NoError(t, err)
	require.NoError(t, s.Done())
	require.NoError(t, s.Publish())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got[128:])
	s, err = CreateShared(path, h)
	require.NoError(t, err)
	s.Part(0, 8)
	s.Part(8, 2)
	_, err = s.Write([]byte{8, 9})
	require.NoError(t, err)
	require.EqualError(t, s.Done(), "npy: a part is not whole")
	s.Part(0, 0)
	require.Error(t, s.Done(), "nor is it later")
	other, err := OpenShared(s.Name(), h)
	require.NoError(t, err)
	other.Part(3, 1)
	require.EqualError(t, other.Done(), "npy: 1 bytes fewer than the part has")
	other, err = OpenShared(s.Name(), h)
	require.NoError(t, err)
	require.NoError(t, other.Done())
	_, err = other.file.Write([]byte{1})
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, s.Abort())
	require.NoFileExists(t, s.Name())
	for _, begin := range []func(string, Header) (*Shared, error){CreateShared, OpenShared} {
		_, err = begin(path, Header{Descr: "'|i1'", Shape: []int{-1}})
		require.EqualError(t, err, "npy: shape [-1] has a negative length")
	}
	_, err = CreateShared(filepath.Join(path, "below"), h)
	require.Error(t, err)
}
