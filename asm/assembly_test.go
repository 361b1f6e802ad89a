package asm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The generator hands out all registers that an instruction may take, and the
// assembler picks the encoding. A kernel for AVX2 must need no register and no
// encoding that came with AVX-512.
func TestAVX2KernelsRunWithoutAVX512(t *testing.T) {
	files, err := filepath.Glob("*_amd64.s")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	newer := regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b|\.BCST`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		kernel := ""
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "TEXT ·"); ok {
				kernel, _, _ = strings.Cut(name, "(")
			}
			if strings.HasPrefix(line, "// Requires:") && strings.HasSuffix(kernel, "AVX2") {
				continue // belongs to the kernel that follows
			}
			if strings.HasSuffix(kernel, "AVX2") {
				require.False(t, newer.MatchString(line), "%s, %s: %s", file, kernel, line)
			}
		}
	}
}
