package table

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMappedFilesAreNotHeld looks at all of a file and measures how much of it the
// process has then.
func TestMappedFilesAreNotHeld(t *testing.T) {
	const size, part = 160 << 20, 1 << 20
	path := filepath.Join(t.TempDir(), "states")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, size))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	m, err := mapFile(file, size)
	require.NoError(t, err)
	before := ofFiles(t)
	for from := int64(0); from < size; from += part {
		data, err := m.part(from, from+part)
		require.NoError(t, err)
		require.Len(t, data, part)
	}
	require.Less(t, ofFiles(t)-before, 2*heldLen+part)
	require.NoError(t, m.close())
}

// ofFiles returns the bytes of files that this process has mapped and in memory.
func ofFiles(t *testing.T) (bytesOf int) {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, found := bytes.Cut(text, []byte("RssFile:"))
	require.True(t, found)
	_, err = fmt.Sscanf(string(after), "%d kB", &bytesOf)
	require.NoError(t, err)
	return bytesOf << 10
}
