package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const structured = "[('x', '<f4'), ('k', '<i4'), ('s', '|i1', (2, 3))]"

func TestItemSize(t *testing.T) {
	for descr, want := range map[string]int{
		"'|i1'": 1, "'<f4'": 4, "'>f8'": 8, "'<c16'": 16, "'|b1'": 1, "'|S7'": 7, "'<U3'": 12, `"<u2"`: 2, "'|V5'": 5,
		"[('x', '<f4')]": 4, "[('x', '<f4'), ('k', '<i4'),]": 8, structured: 14, "[('x', '<f4', 3)]": 12,
		"'|S1048576'": 1 << 20, "[('x', '<f4', (268435456,))]": 1 << 30,
	} {
		_, size, err := Fields(descr)
		require.NoError(t, err, descr)
		require.Equal(t, want, size, descr)
	}
	for _, descr := range []string{
		"", "i1", "'i1'", "'|x1'", "'<f'", "'<f0'", "'<f-4'", "'<f99999999'", "'<f4' 'x'", "[]", "[('x',)]", "[(3, '<f4')]", "['<f4']",
		"[('x', '<f4', (0,))]", "[('x', '<f4', ('a',))]", "[('x', '<f4'", "[('x' '<f4')]", "('x', '<f4')", "3", "True", `'\x3cf4'`,
		"'<f4", strings.Repeat("[", 100), "[('x', '<f4', (1000000, 1000000))]",
		"'|S1048577'", "[('x', '<f4', (268435457,))]", "[('p', [('x', '<f8'), ('y', '<f8')], (2,))]",
	} {
		_, _, err := Fields(descr)
		require.Error(t, err, descr)
	}
	_, _, err := Fields(strings.Repeat("[", 100) + strings.Repeat("]", 100))
	require.ErrorContains(t, err, "nested too deeply")
}

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{
		{"'|i1'", nil}, {"'|i1'", []int{0}}, {"'<f4'", []int{5}}, {"'<u8'", []int{200000, 9}}, {structured, []int{3, 1, 2}},
		{"[" + strings.Repeat("('a long name of a field', '<f8'), ", 2500) + "]", []int{7}}, // needs version 2.0
	} {
		b, err := h.Append([]byte("before"))
		require.NoError(t, err)
		b = b[len("before"):]
		require.Zero(t, len(b)%alignment)
		require.Equal(t, byte('\n'), b[len(b)-1])
		want := byte(1)
		if len(b) > 1<<16 {
			want = 2
		}
		require.Equal(t, want, b[6])
		r := bytes.NewReader(append(b, "data"...))
		back, err := ReadHeader(r)
		require.NoError(t, err)
		require.Equal(t, h, back)
		require.Equal(t, 4, r.Len(), "the reader stands at the data")
		for n := range len(b) {
			if n < 100 || n%997 == 0 {
				_, err := ReadHeader(bytes.NewReader(b[:n]))
				require.Error(t, err, "%d bytes", n)
			}
		}
	}
}

func TestHeaderErrors(t *testing.T) {
	for _, h := range []Header{{"'<f4'", []int{-1}}, {"'<f4'", []int{1 << 40, 1 << 40}}, {"f4", nil}} {
		_, err := h.Append(nil)
		require.Error(t, err)
		_, err = NewWriter(io.Discard, h)
		require.Error(t, err)
	}
	for dict, want := range map[string]string{
		"[]": "not a dictionary", "{'descr': '<f4'}": "fortran_order", "{'descr': '<f4', 'fortran_order': True, 'shape': ()}": "Fortran",
		"{'descr': '<f4', 'fortran_order': False}": "shape", "{'descr': '<f4', 'fortran_order': False, 'shape': ('a',)}": "shape",
		"{'fortran_order': False, 'shape': ()}": "dtype", "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x": "unexpected",
		"{3: 4}": "key", "{'a' 3}": "key", "{'a': 3 'b': 4}": "missing }", "{'a': }": "unexpected", "{(": "unexpected",
	} {
		b := append([]byte(magic), 1, 0)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
		_, err := ReadHeader(strings.NewReader(string(b) + dict))
		require.ErrorContains(t, err, want, dict)
	}
	const plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"
	for version := range byte(5) {
		length := binary.LittleEndian.AppendUint32(nil, uint32(len(plain)))
		if version == 1 {
			length = length[:2]
		}
		h, err := ReadHeader(strings.NewReader(magic + string([]byte{version, 0}) + string(length) + plain))
		if version < 1 || version > 3 {
			require.ErrorContains(t, err, fmt.Sprintf("version %d is not known", version))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []int{3}, h.Shape)
	}
	_, err := ReadHeader(strings.NewReader("\x93NUMPY\x09\x00\x00\x00"))
	require.ErrorContains(t, err, "version 9")
	_, err = ReadHeader(strings.NewReader("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	require.ErrorContains(t, err, "too long")
	_, err = ReadHeader(strings.NewReader("PK\x03\x04 and more"))
	require.ErrorContains(t, err, "not an .npy file")
}

func TestWriterCountsBytes(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{"'<u2'", []int{3}})
	require.NoError(t, err)
	_, err = w.Write([]byte{1, 2, 3, 4})
	require.NoError(t, err)
	_, err = w.Write([]byte{5, 6, 7})
	require.ErrorContains(t, err, "1 bytes more")
	require.ErrorContains(t, w.Close(), "2 bytes fewer")
	_, err = w.Write([]byte{5, 6})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, b.Bytes()[b.Len()-6:])
}

type fullDisk struct{}

func (fullDisk) Write(p []byte) (int, error) { return 0, syscall.ENOSPC }

func TestWriteErrorsAreReported(t *testing.T) {
	_, err := NewWriter(fullDisk{}, Header{"'|i1'", []int{2}})
	require.ErrorIs(t, err, syscall.ENOSPC)
}

// NumPy itself reads what the package writes.
func TestNumPyReads(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("python3 with numpy is not installed")
	}
	dir := t.TempDir()
	create := func(name string, h Header, data any) {
		file, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		w, err := NewWriter(file, h)
		require.NoError(t, err)
		require.NoError(t, binary.Write(w, binary.LittleEndian, data))
		require.NoError(t, errors.Join(w.Close(), file.Close()))
	}
	create("spins.npy", Header{"'|i1'", []int{2, 3}}, []int8{1, -1, 1, -1, -1, 1})
	create("bits.npy", Header{"'<u8'", []int{2}}, []uint64{5, 1 << 63})
	create("scalar.npy", Header{"'<f8'", nil}, 2.5)
	create("empty.npy", Header{"'<f4'", []int{0, 2}}, []float32{})
	create("mixed.npy", Header{"[('x', '<f4'), ('k', '<i4')]", []int{2}}, []struct {
		X float32
		K int32
	}{{1.5, 7}, {-2, 8}})
	var names strings.Builder
	for i := range 4000 {
		names.WriteString("('field" + strconv.Itoa(i) + "', '|u1'), ")
	}
	create("wide.npy", Header{"[" + names.String() + "]", []int{1}}, make([]uint8, 4000))
	script := `
import numpy as np
a = np.load("spins.npy"); assert a.dtype == np.int8 and a.tolist() == [[1, -1, 1], [-1, -1, 1]], a
a = np.load("bits.npy"); assert a.dtype == np.uint64 and a.tolist() == [5, 1 << 63], a
a = np.load("scalar.npy"); assert a.shape == () and a == 2.5, a
a = np.load("empty.npy"); assert a.shape == (0, 2), a
a = np.load("mixed.npy", mmap_mode="r"); assert a["x"].tolist() == [1.5, -2] and a["k"].tolist() == [7, 8], a
try: a = np.load("wide.npy", max_header_size=1000000)
except TypeError: a = np.load("wide.npy")
assert len(a.dtype) == 4000, a
np.save("theirs.npy", np.zeros((3, 2), dtype=[("x", "<f8"), ("k", "<i4", (2,))]))
`
	cmd := exec.Command(python, "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	f, err := os.Open(filepath.Join(dir, "theirs.npy"))
	require.NoError(t, err)
	defer f.Close()
	h, err := ReadHeader(f)
	require.NoError(t, err)
	require.Equal(t, Header{"[('x', '<f8'), ('k', '<i4', (2,))]", []int{3, 2}}, h)
	size, err := h.Size()
	require.NoError(t, err)
	rest, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Len(t, rest, int(size))
}

// What ReadHeader accepts, Append writes and ReadHeader reads back.
func FuzzReadHeader(f *testing.F) {
	for _, h := range []Header{{"'|i1'", []int{2, 9}}, {structured, nil}} {
		b, err := h.Append(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHeader(bytes.NewReader(b))
		if err != nil {
			return
		}
		b, err = h.Append(nil)
		require.NoError(t, err)
		back, err := ReadHeader(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, h, back)
	})
}

func TestFields(t *testing.T) {
	all, _, err := Fields("[('x', '<f4', (2, 3)), ('k', '<i4')]")
	require.NoError(t, err)
	require.Equal(t, []Field{{"x", "<f4", 6}, {"k", "<i4", 1}}, all)
	all, _, err = Fields("'|i1'")
	require.NoError(t, err)
	require.Equal(t, []Field{{"", "|i1", 1}}, all)
	all, _, err = Fields("[('', '<f4', 2)]")
	require.NoError(t, err)
	require.Equal(t, []Field{{"", "<f4", 2}}, all, "a name may be empty")
	for _, bad := range []string{"3", "[('x', [('y', '<f4')])]", "[('x',)]", "'f'"} {
		_, _, err := Fields(bad)
		require.Error(t, err, bad)
	}
}

// TestLimitsOfHeaders: the longest headers, the largest arrays and the deepest types that are
// taken, and the first that are not.
func TestLimitsOfHeaders(t *testing.T) {
	size, err := Header{"'<f4'", []int{0, math.MaxInt64 / 4}}.Size()
	require.NoError(t, err)
	require.Zero(t, size)
	size, err = Header{"'<f4'", []int{math.MaxInt64 / 4}}.Size()
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt64-3, size)
	_, err = Header{"'<f4'", []int{math.MaxInt64/4 + 1}}.Size()
	require.EqualError(t, err, "npy: shape [2305843009213693952] of 4-byte items does not fit in 2^63 bytes")
	_, err = Header{"'<f4'", []int{2, -1}}.Size()
	require.EqualError(t, err, "npy: shape [2 -1] has a negative length")
	require.Equal(t, []string{"()", "(3,)", "(3, 4)"}, []string{Tuple(nil), Tuple([]int{3}), Tuple([]int{3, 4})})

	// A dictionary fills the first version's header to the last byte, or needs the second.
	around := len("{'descr': [('', '<f4')], 'fortran_order': False, 'shape': (2,), }\n")
	for name, version := range map[int]byte{65526 - around: 1, 65527 - around: 2} {
		h := Header{"[('" + strings.Repeat("a", name) + "', '<f4')]", []int{2}}
		b, err := h.Append(nil)
		require.NoError(t, err)
		require.Equal(t, version, b[6])
		require.Len(t, b, map[byte]int{1: 65536, 2: 65600}[version])
		back, err := ReadHeader(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, h, back)
	}
	const dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"
	for length, want := range map[int]string{1 << 20: "", 1<<20 + 1: "npy: a header of 1048577 bytes is too long"} {
		text := dict + strings.Repeat(" ", length-len(dict))
		_, err := ReadHeader(strings.NewReader(magic + "\x02\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(length))) + text))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	for depth, want := range map[int]string{8: "a field has fields", 9: "nested too deeply"} {
		descr := strings.Repeat("[('a', ", depth) + "'<f4'" + strings.Repeat(")]", depth)
		_, _, err := Fields(descr)
		require.EqualError(t, err, "npy: dtype "+descr+": "+want)
	}
	for descr, want := range map[string]string{
		"'f4'": `"f4" is not byte order, kind and size`, "'<f'": `"<f" is not byte order, kind and size`, "'=f4'": `"=f4" is not byte order, kind and size`, "'<q4'": `"<q4" is not byte order, kind and size`,
		"'<f0'": `"<f0" has no usable size`, "'|S1048577'": `"|S1048577" has no usable size`, "'<fx'": `"<fx" has no usable size`, "3": "3 is neither a string nor a list of fields", "[]": "items of 0 bytes",
		"[('a', '<f4', (268435456,)), ('b', '|i1')]": "items of 1073741825 bytes", "[('a', '<f4', (268435457,))]": "field ('a', '<f4', (268435457,)) has no usable shape",
		"[('a', '<f4', 0)]": "field ('a', '<f4', 0) has no usable shape", "[('a',)]": "field ('a',) is not (name, dtype) or (name, dtype, shape)", "[('a', '<f4', 1, 1)]": "field ('a', '<f4', 1, 1) is not (name, dtype) or (name, dtype, shape)",
		"[(1, '<f4')]": "field (1, '<f4') has no name", "'<f4": "a string has no end, or an escape", "'<f4\\'": "a string has no end, or an escape", "'<f4' 1": `unexpected "1"`, "nonesuch thing": `unexpected "nonesuch t"`, "no": `unexpected "no"`,
		"[('a' '<f4')]": "missing )", "('a', '<f4'": "missing )", "['a'": "missing ]",
	} {
		_, _, err := Fields(descr)
		require.EqualError(t, err, "npy: dtype "+descr+": "+want, descr)
	}
	_, _, err = Fields("[('a', [('b', '<f4')])]")
	require.EqualError(t, err, "npy: dtype [('a', [('b', '<f4')])]: a field has fields")
}

// TestWriterCounts: how much has been written, of how much, is told at every moment.
func TestWriterCounts(t *testing.T) {
	const n = 3 << 18
	seen := []int64{}
	var w *Writer
	w, err := NewWriter(watching(func(p []byte) (int, error) {
		if w != nil {
			done, size := w.Written()
			require.EqualValues(t, n, size)
			seen = append(seen, done)
		}
		if len(seen) == 3 {
			return 5, syscall.ENOSPC
		}
		return len(p), nil
	}), Header{"'|i1'", []int{n}})
	require.NoError(t, err)
	done, err := w.Write(make([]byte, n))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 2<<18+5, done)
	require.Equal(t, []int64{0, 1 << 18, 2 << 18}, seen)
	written, _ := w.Written()
	require.EqualValues(t, done, written)
	require.EqualError(t, w.Close(), fmt.Sprintf("npy: %d bytes fewer than the header promises", n-done))
	_, err = w.Write(make([]byte, n-done+2))
	require.EqualError(t, err, "npy: 2 bytes more than the header promises")
}

type watching func(p []byte) (int, error)

func (w watching) Write(p []byte) (int, error) { return w(p) }
