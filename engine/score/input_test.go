package score

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
)

var (
	pair  = engine.Format{Name: "pair", Descr: "'<f4'", Shape: []int{2}, RowBytes: 8}
	mixed = engine.Format{Name: "mixed", Descr: "[('x', '<f4', (2,)), ('k', '<i4')]", RowBytes: 12}
	both  = []engine.Format{format, pair}
)

// array returns an array's bytes: a header, and as many of data.
func array(t *testing.T, descr string, shape []int, data int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := npy.NewWriter(&b, npy.Header{Descr: descr, Shape: shape})
	require.NoError(t, err)
	_, _ = w.Write(make([]byte, data))
	return b.String()
}

// read opens a text as a file and as a stream and returns what is read of both: the kind, the
// format, and the states with their places, or the error.
func read(t *testing.T, text, kind, name string, formats []engine.Format) (file, stream string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	of := func(name string, in *Input, err error) string {
		if err != nil {
			return strings.TrimPrefix(err.Error(), name+": ")
		}
		said := fmt.Sprintf("%s %s %d:", in.Kind, in.Format.Name, in.Rows)
		err = in.Each(func(states []byte, where func(int) string) error {
			for i := range len(states) / in.Format.RowBytes {
				said += fmt.Sprintf(" %s %x;", where(i), states[i*in.Format.RowBytes:(i+1)*in.Format.RowBytes])
			}
			return nil
		})
		require.NoError(t, in.Close())
		if err != nil {
			said += " " + strings.TrimPrefix(err.Error(), name+": ")
		} else {
			require.EqualValues(t, len(text), in.Bytes+int64(strings.Index(text, "\n")+1)*int64(map[bool]int{true: 1}[in.Kind == "npy"]))
		}
		return said
	}
	in, err := Open(path, nil, kind, name, formats, 1)
	file = of(path, in, err)
	in, err = Open("-", iotest.OneByteReader(strings.NewReader(text)), kind, name, formats, 1)
	return file, of("stdin", in, err)
}

// TestInputs: what each kind of input gives, from a file, whose size is known, and from a stream.
func TestInputs(t *testing.T) {
	const neither = "is neither a NumPy array nor lines of JSON lists or objects; use --input raw for the bytes of states alone"
	const formats = "bytes (dtype '|i1', shape (…, 2)), pair (dtype '<f4', shape (…, 2))"
	const zero8 = "0000000000000000"
	for _, c := range []struct{ text, kind, format, file, stream string }{
		{"[1,2]\n\n[3,-1]", "", "", "ndjson bytes -1: line 1 0102; line 3 03ff;", ""},
		{strings.Repeat(" \n", 40000) + "[1,2]", "", "", "ndjson bytes -1: line 40001 0102;", ""},
		{"{\"pair\":[0,0]}", "", "pair", "ndjson pair -1: line 1 " + zero8 + ";", ""},
		{"[1,2]\n[3]\n", "ndjson", "", "ndjson bytes -1: line 1 0102; line 2: 1 numbers where 2 are needed", ""},
		{"", "", "", "ndjson bytes -1:", ""},
		{" \n", "", "", "ndjson bytes -1:", ""},
		{"abc", "", "", neither, ""},
		{"ab", "", "", neither, ""},
		{"\x93NUMPX", "", "", neither, ""},
		{"[1,2]", "", "other", `format "other" is not one of ` + formats, ""},
		{"abcd", "raw", "", "raw bytes 2: state 0 6162; state 1 6364;", "raw bytes -1: state 0 6162; state 1 6364;"},
		{"", "raw", "", "raw bytes 0:", "raw bytes -1:"},
		{"abc", "raw", "", "3 bytes are not a number of states of 2 bytes, which those of format bytes have", "raw bytes -1: state 1: ends after 1 of its 2 bytes"},
		{"abcdefg", "raw", "pair", "7 bytes are not a number of states of 8 bytes, which those of format pair have", "raw pair -1: state 0: ends after 7 of its 8 bytes"},
		{array(t, "'|i1'", []int{2, 2}, 4), "", "", "npy bytes 2: state 0 0000; state 1 0000;", ""},
		{array(t, "'|i1'", []int{2, 3, 2}, 12), "", "", "npy bytes 6:" + states(6, "0000"), ""},
		{array(t, "'|i1'", []int{2}, 2), "", "", "npy bytes 1: state 0 0000;", ""},
		{array(t, "'<f4'", []int{1, 2}, 8), "", "", "npy pair 1: state 0 " + zero8 + ";", ""},
		{array(t, "'<f4'", []int{1, 2}, 8), "npy", "pair", "npy pair 1: state 0 " + zero8 + ";", ""},
		{array(t, "'<i1'", []int{1, 2}, 2), "", "", "npy bytes 1: state 0 0000;", ""},
		{array(t, "'|i1'", []int{0, 2}, 0), "", "", "npy bytes 0:", ""},
		{array(t, "'|i1'", []int{2, 3}, 6), "", "", "an array of shape [2 3], but states are bytes (dtype '|i1', shape (…, 2))", ""},
		{array(t, "'|i1'", []int{}, 1), "", "", "an array of shape [], but states are bytes (dtype '|i1', shape (…, 2))", ""},
		{array(t, "'<f8'", []int{2, 2}, 32), "", "", "an array of dtype '<f8', but states are " + formats + "; numpy's astype converts", ""},
		{array(t, "'<f4'", []int{2, 2}, 16), "", "bytes", "an array of dtype '<f4', but states are bytes (dtype '|i1', shape (…, 2)); numpy's astype converts", ""},
		{array(t, "'<f4'", []int{2, 2}, 16), "", "other", "an array of dtype '<f4', but states are " + formats + "; numpy's astype converts", ""},
		{array(t, "[('a', '<f4')]", []int{2}, 8), "", "", "an array of dtype [('a', '<f4')], but states are " + formats + `; a field of a NumPy array d is an array by itself, d["NAME"]`, ""},
		{array(t, "'|i1'", []int{3, 2}, 5), "", "", "truncated: its shape needs 6 bytes of data and it has 5", "npy bytes 3: state 2: truncated: there are to be 3 states"},
		{array(t, "'|i1'", []int{2, 2}, 4) + "x", "", "", "longer than it says: its shape needs 4 bytes of data and it has 5", "npy bytes 2: state 0 0000; state 1 0000; state 2: there are to be 2 states, and more follows"},
		{"\x93NUMPY", "", "", "", ""},
	} {
		file, stream := read(t, c.text, c.kind, c.format, both)
		if c.file == "" {
			require.Contains(t, file, "npy: ")
			continue
		}
		require.Equal(t, c.file, file, "%.60q", c.text)
		if c.stream == "" {
			c.stream = c.file
		}
		require.Equal(t, c.stream, stream, "%.60q", c.text)
	}
	// Numbers of a state in a row, and structures.
	square := engine.Format{Name: "square", Descr: "'|i1'", Shape: []int{2, 2}, RowBytes: 4}
	for text, want := range map[string]string{
		array(t, "'|i1'", []int{2, 2, 2}, 8): "npy square 2:" + states(2, "00000000"), array(t, "'|i1'", []int{3, 4}, 12): "npy square 3:" + states(3, "00000000"), array(t, "'|i1'", []int{4}, 4): "npy square 1:" + states(1, "00000000"),
		array(t, "'|i1'", []int{2, 2}, 4): "npy square 1:" + states(1, "00000000"), "[1,2,3,4]": "ndjson square -1: line 1 01020304;", "[[1,2],[3,4]]": "ndjson square -1: line 1 01020304;",
	} {
		got, _ := read(t, text, "", "", []engine.Format{square})
		require.Equal(t, want, got)
	}
	// Of several formats that an array can be of, with states or without, the first.
	flat, tall, wide := engine.Format{Name: "flat", Descr: "'|i1'", Shape: []int{2}, RowBytes: 2}, engine.Format{Name: "tall", Descr: "'|i1'", Shape: []int{2, 1}, RowBytes: 2}, engine.Format{Name: "wide", Descr: "'|i1'", Shape: []int{1, 2}, RowBytes: 2}
	for _, c := range []struct {
		formats []engine.Format
		want    string
	}{{[]engine.Format{flat, wide}, "flat"}, {[]engine.Format{wide, flat}, "flat"}, {[]engine.Format{wide, tall}, "wide"}, {[]engine.Format{tall, wide}, "tall"}} {
		for n, told := range map[int]string{0: ":", 3: ":" + states(3, "0000")} {
			got, _ := read(t, array(t, "'|i1'", []int{n, 2}, 2*n), "", "", c.formats)
			require.Equal(t, fmt.Sprintf("npy %s %d%s", c.want, n, told), got)
		}
	}
	got, _ := read(t, array(t, mixed.Descr, []int{2}, 24), "", "", []engine.Format{mixed})
	require.Equal(t, "npy mixed 2:"+states(2, strings.Repeat("00", 12)), got)
	got, _ = read(t, array(t, `[ ("x", "<f4", (2,)), ("k", "<i4")]`, []int{1}, 12), "", "", []engine.Format{mixed})
	require.Equal(t, "npy mixed 1:"+states(1, strings.Repeat("00", 12)), got)
	got, _ = read(t, `{"k":[1],"x":[0,0]}`, "", "", []engine.Format{mixed})
	require.Equal(t, "ndjson mixed -1: line 1 000000000000000001000000;", got)
	for name, f := range map[string]engine.Format{"types": {Name: "half", Descr: "'<f2'", Shape: []int{2}, RowBytes: 4}, "sizes": {Name: "half", Descr: "'<f4'", Shape: []int{2}, RowBytes: 4}} {
		got, _ = read(t, "[1,2]", "", "", []engine.Format{f})
		require.Equal(t, "format half cannot be written as JSON", got, name)
	}
	_, err := Open(t.TempDir(), nil, "", "", both, 1)
	require.ErrorContains(t, err, ": is a directory, and no file of states")
	_, err = Open(filepath.Join(t.TempDir(), "none"), nil, "", "", both, 1)
	require.ErrorContains(t, err, "none: no such file or directory")
	empty := filepath.Join(t.TempDir(), "empty.npy")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = Open(empty, nil, "", "", both, 1)
	require.ErrorContains(t, err, "empty.npy: npy: ")
	broken := errors.New("broken")
	in, err := Open("-", io.MultiReader(strings.NewReader("abcd"), iotest.ErrReader(broken)), "raw", "", both, 1)
	require.NoError(t, err)
	require.EqualError(t, in.Each(func([]byte, func(int) string) error { return nil }), "stdin: broken")
	_, err = Open("-", iotest.ErrReader(broken), "", "", both, 1)
	require.ErrorContains(t, err, neither)
	_, err = Open("-", io.MultiReader(strings.NewReader(" \n"), iotest.ErrReader(broken)), "", "", both, 1)
	require.ErrorContains(t, err, neither)
}

// states are those of zeros, with their places.
func states(n int, hex string) (text string) {
	for i := range n {
		text += fmt.Sprintf(" state %d %s;", i, hex)
	}
	return text
}

// TestParts: states come in parts of 2²⁰ bytes, whose places count on.
func TestParts(t *testing.T) {
	const row = 3 << 17 // two are in a part, and the third would not be
	wide := engine.Format{Name: "wide", Descr: "'|i1'", Shape: []int{row}, RowBytes: row}
	text := strings.Repeat("a", row) + strings.Repeat("b", row) + strings.Repeat("c", row)
	lines := strings.Repeat("["+strings.Repeat("0,", row-1)+"0]\n", 3)
	for kind, of := range map[string]string{"raw": text, "ndjson": lines} {
		path := filepath.Join(t.TempDir(), "in")
		require.NoError(t, os.WriteFile(path, []byte(of), 0o600))
		in, err := Open(path, nil, kind, "", []engine.Format{wide}, 1)
		require.NoError(t, err)
		var got []string
		total := 0
		require.NoError(t, in.Each(func(data []byte, where func(int) string) error {
			require.Zero(t, len(data)%row)
			require.LessOrEqual(t, len(data), 2*row)
			got = append(got, where(len(data)/row-1))
			total += len(data)
			if kind == "raw" {
				require.Equal(t, text[total-len(data):total], string(data))
			}
			return nil
		}))
		require.Equal(t, 3*row, total)
		require.Equal(t, map[string]string{"raw": "state 2", "ndjson": "line 3"}[kind], got[len(got)-1])
		stop := errors.New("enough")
		require.NoError(t, in.Close())
		in, err = Open(path, nil, kind, "", []engine.Format{wide}, 1)
		require.NoError(t, err)
		require.ErrorIs(t, in.Each(func([]byte, func(int) string) error { return stop }), stop)
		require.NoError(t, in.Close())
	}
	huge := engine.Format{Name: "huge", Descr: "'|i1'", Shape: []int{1<<20 + 1}, RowBytes: 1<<20 + 1}
	in, err := Open("-", strings.NewReader(strings.Repeat("x", 2<<20+2)), "raw", "", []engine.Format{huge}, 1)
	require.NoError(t, err)
	calls := 0
	require.NoError(t, in.Each(func(data []byte, _ func(int) string) error { calls++; require.Len(t, data, 1<<20+1); return nil }))
	require.Equal(t, 2, calls)
	require.EqualValues(t, 2, in.Rows)
}

// TestLayouts: tables in every layout, of more rows than a thread takes at a time.
func TestLayouts(t *testing.T) {
	const n = 1100
	columns := []string{"a", "b"}
	var data []float64
	var csv, ndjson strings.Builder
	csv.WriteString("a,b\n")
	var array []byte
	for i := range n {
		x := []float64{float64(i) - 3, 0.5 * float64(i)}
		if i == 7 {
			x = []float64{math.Inf(-1), math.NaN()}
		}
		text := []string{fmt.Sprint(x[0]), fmt.Sprint(x[1])}
		quoted := text
		if i == 7 {
			text, quoted = []string{"-Infinity", "NaN"}, []string{`"-Infinity"`, `"NaN"`}
		}
		fmt.Fprintf(&csv, "%s,%s\n", text[0], text[1])
		fmt.Fprintf(&ndjson, "{\"a\":%s,\"b\":%s}\n", quoted[0], quoted[1])
		for _, v := range x {
			array = binary.LittleEndian.AppendUint64(array, math.Float64bits(v))
		}
		data = append(data, x...)
	}
	workers := pool.New(3)
	defer workers.Close()
	for layout, want := range map[string]string{"csv": csv.String(), "ndjson": ndjson.String(), "npy": string(array)} {
		var b bytes.Buffer
		o, err := NewOutput(&b, layout, columns, n, workers)
		require.NoError(t, err)
		for _, part := range [][2]int{{0, 511}, {511, 512}, {512, 512}, {512, n}} {
			require.NoError(t, o.WriteRows(data[2*part[0]:2*part[1]]))
		}
		require.NoError(t, o.Close())
		require.EqualValues(t, b.Len(), o.Bytes)
		got := b.Bytes()
		if layout == "npy" {
			h, err := npy.ReadHeader(&b)
			require.NoError(t, err)
			require.Equal(t, npy.Header{Descr: "[('a', '<f8'), ('b', '<f8')]", Shape: []int{n}}, h)
			got = b.Bytes()
		}
		require.Equal(t, want, string(got), layout)
		full := &limited{left: 100}
		o, err = NewOutput(full, layout, columns, n, workers)
		require.Equal(t, layout == "npy", err != nil, "whose header is longer")
		if err == nil {
			err = o.WriteRows(data)
		}
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
	var b bytes.Buffer
	o, err := NewOutput(&b, "npy", columns, 2, workers)
	require.NoError(t, err)
	require.NoError(t, o.WriteRows(data[:2]))
	require.EqualError(t, o.Close(), "npy: 16 bytes fewer than the header promises", "a row is missing")
	for _, name := range []string{"it's", "a\\b", "a\nb"} {
		_, err = NewOutput(&b, "npy", []string{name}, 2, workers)
		require.EqualError(t, err, fmt.Sprintf("column %q: NumPy's header has no room for such a name", name))
	}
	for x, want := range map[float64]string{1 << 53: "9.007199254740992e+15", -(1<<53 - 1): "-9007199254740991", math.Copysign(0, -1): "0", 1e300: "1e+300"} {
		require.Equal(t, want, string(appendNumber(nil, x, "")))
	}
}

// limited takes so many bytes.
type limited struct{ left int }

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
