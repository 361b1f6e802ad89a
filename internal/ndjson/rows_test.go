package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// rows returns what a layout makes of a text: one line for each, and the error.
func rows(l Layout, text []byte, limits Limits, goroutines int, fast bool) (all []string) {
	row := l.RowBytes()
	err := l.each(iotest{bytes.NewReader(text)}, limits, goroutines, fast && simd, func(data []byte, lines []int) error {
		for i, line := range lines {
			all = append(all, fmt.Sprintf("%d %x", line, data[i*row:(i+1)*row]))
		}
		if len(data) != len(lines)*row {
			all = append(all, "odd length")
		}
		return nil
	})
	if err != nil {
		all = append(all, err.Error())
	}
	return all
}

// An iotest gives a few bytes at a time.
type iotest struct{ r io.Reader }

func (r iotest) Read(b []byte) (int, error) { return r.r.Read(b[:min(len(b), 1<<16+7)]) }

var (
	signs  = Layout{{"spins", 4, Int8}}
	states = Layout{{"x", 2, Float32}, {"k", 1, Int32}}
	words  = Layout{{"bits", 1, Uint64}}
)

func TestRows(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		text   string
		want   []string
	}{
		{signs, "[1,-1,1,1]\n\n  [[1,-1],[-1,1]]\r\n{\"spins\":[1,1,1,1.0]}", []string{"1 01ff0101", "3 01ffff01", "4 01010101"}},
		{states, "{\"x\":[1,0.5],\"k\":3}\n{\"k\":-1,\"x\":[[0.0],[-2e0]]}\n", []string{"1 0000803f0000003f03000000", "2 00000000000000c0ffffffff"}},
		{words, "[18446744073709551615]\n[1]\n", []string{"1 ffffffffffffffff", "2 0100000000000000"}},
		{signs, "[1,1,1,1]\n[1,-1,1]\n[1,1,1,1]\n", []string{"1 01010101", "line 2: 3 numbers where 4 are needed"}},
		{signs, "[1,1,1,1,1]", []string{"line 1: 5 numbers where 4 are needed"}},
		{signs, "[1,1,1,300]", []string{"line 1: number 3 is 300 and not a whole number of 8 bits"}},
		{signs, "[1,1,1,0.5]", []string{"line 1: number 3 is 0.5 and not a whole number of 8 bits"}},
		{signs, "[1,1,1,null]", []string{"line 1: number 3 is null"}},
		{signs, "[1,1,\"1\",1]", []string{"line 1: number 2 is a string"}},
		{signs, "[1,1,1,NaN]", []string{"line 1: byte 8: invalid character 'N' looking for beginning of value"}},
		{signs, "{\"spin\":[1,1,1,1]}", []string{`line 1: "spin": unknown key; a line is a list of 4 numbers, or {"spins": [… 4 numbers]}`}},
		{signs, "{}", []string{`line 1: lacks a key; a line is a list of 4 numbers, or {"spins": [… 4 numbers]}`}},
		{signs, "3", []string{"line 1: a number where an object or a list is needed"}},
		{signs, "[1,1,1,1", []string{"line 1: ends too early: a closing bracket or quote is missing"}},
		{states, "[1,2,3]", []string{`line 1: a list where an object is needed: {"x": [… 2 numbers], "k": …}`}},
		{states, "{\"x\":[1,2],\"k\":0,\"k\":0}", []string{`line 1: the key "k" stands twice`}},
		{states, "{\"x\":[1,1e39],\"k\":0}", []string{"line 1: x: number 1 is 1e+39 and not a number within float32"}},
		{words, "[-1]", []string{"line 1: number 0 is -1 and not a whole number of 64 bits without a sign"}},
		{words, "[18446744073709551616]", []string{"line 1: 18446744073709551616 is beyond the whole numbers of 64 bits"}},
		{signs, strings.Repeat("[", 40) + "\n", []string{"line 1: nested too deep"}},
		{signs, "[1,1,1,1]\n[" + strings.Repeat("1,", 5000) + "1]\n", []string{"1 01010101", "line 2: longer than 4096 bytes"}},
		{signs, "", nil},
	} {
		for _, fast := range []bool{false, true} {
			got := rows(c.layout, []byte(c.text), Limits{4096, 8}, 2, fast)
			require.Len(t, got, len(c.want), "%.60s: %v", c.text, got)
			for i := range got {
				require.Contains(t, got[i], c.want[i], "%.60s", c.text)
			}
		}
	}
}

// A line that never ends is refused without being held.
func TestEndlessLine(t *testing.T) {
	in := &endless{}
	err := signs.Each(in, Limits{1 << 20, 8}, 2, func([]byte, []int) error { return nil })
	require.EqualError(t, err, "line 1: longer than 1048576 bytes")
	require.Less(t, in.given, 4<<20)
}

type endless struct{ given int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '['
	}
	e.given += len(b)
	return len(b), nil
}

// Many blocks are in order, whoever parses them, and one bad line ends them at its
// place.
func TestRowsInOrder(t *testing.T) {
	long.SkipShort(t)
	r := rand.New(rand.NewPCG(1, 1))
	var text bytes.Buffer
	var want []string
	for i := range 100_000 {
		fmt.Fprintf(&text, "[%d,%d,%d,%d]%s\n", i%128, i>>7%128, i>>14%128, r.IntN(2), strings.Repeat(" ", r.IntN(30)))
	}
	want = rows(signs, text.Bytes(), limits, 1, false)
	require.Len(t, want, 100_000)
	for _, goroutines := range []int{1, 3} {
		require.Equal(t, want, rows(signs, text.Bytes(), limits, goroutines, true))
	}
	lines := bytes.SplitAfter(text.Bytes(), []byte("\n"))
	lines[77_776] = []byte("[1,2,]\n")
	got := rows(signs, bytes.Join(lines, nil), limits, 3, true)
	require.Equal(t, want[:77_776], got[:77_776])
	require.Len(t, got, 77_777)
	require.Contains(t, got[77_776], "line 77777: ")
	stop := errors.New("stop")
	require.ErrorIs(t, signs.Each(&text, limits, 2, func([]byte, []int) error { return stop }), stop)
}

func TestRowsReadError(t *testing.T) {
	n := 0
	err := signs.Each(io.MultiReader(strings.NewReader("[1,1,1,1]\n[1,"), failing{}), limits, 2, func(_ []byte, lines []int) error { n += len(lines); return nil })
	require.EqualError(t, err, "disk on fire")
	require.Equal(t, 1, n)
}

// Both parsers take and refuse the same, for the same reasons.
func FuzzRowsAgree(f *testing.F) {
	for _, seed := range []string{
		"[1,-1,1,1]\n[[1,1],[1,1]]\n", "[1,2,3]\n[1,2,3,4]", `{"spins":[1,1,1,1]}`, `{"spins":[1,1,1,1],"spins":[1,1,1,1]}`, `{"x":[1,2.5],"k":0}`, `{"k":1,"x":[0.0,-0.0]}`,
		`{"x":[[1],[2]],"k":[3]}`, `{"x":[1,2],"k":[[]]}`, `{"x":[1,2],"k":null}`, `{"x":[1e-999,2],"k":1}`, `{"x":[18446744073709551616,2],"k":1}`, "[18446744073709551615]", "[1.0]", "[]",
		"[1]\n[2]x\n[3]", "[1][2]\n", "{\"bits\":1}\n{\"b\\u0069ts\":1}", "[\n1]", "[1]\r\n\r\n[2]", "{\"bits\":[{}]}", `{"x":1,"k":2}`, "[128,-128,127,-129]", `[[[[1,1,1,1]]]]`, `{"\n":1}`, "[1e5,1.5e-3,-0.0,-0]", "[0e5]", "[0.0e-999]", "[1e-320]", "[1.25e22,1E+22,2e23,9007199254740993.0]", "[0.1234567890123456789,1e-23,3,4]", "[01]", "[1.]", "[-]", "[1,]", "[,1]",
		"[123456789012345678,1234567890123456789]", "[1.0,1,1,-1.0]", "[1]]", "[[1]", "[1 1]", "[1, -1, 1, -1]", "[1,-1, [1,1]]", "[-1,1,1,", "[1,-,1,1]", "[--1,1,1,1]", "[1,\t-1,1 ,1]", "[1,!1,1,1]", "[1,-1,1]", "[1,-1,1,1,1]", "[=1,1,1,1]", "[1,1,1,-11]", "[1,11,-1,1]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, l := range []Layout{signs, states, words, {{"x", 4, Float64}}, {{"x", 1, Float32}}, {{"x", 2, Int32}}} {
			small := Limits{Bytes: 1 << 10, Depth: 6}
			require.Equal(t, rows(l, text, small, 1, false), rows(l, text, small, 2, true))
		}
	})
}

func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var spins, floats bytes.Buffer
	for range 4000 {
		for i := range 256 {
			fmt.Fprintf(&spins, "%c%d", ",["[btoi(i == 0)], 2*r.IntN(2)-1)
		}
		spins.WriteString("]\n")
		for i := range 64 {
			fmt.Fprintf(&floats, "%c%v", ",["[btoi(i == 0)], float32(r.NormFloat64()))
		}
		floats.WriteString("]\n")
	}
	for name, c := range map[string]struct {
		text   []byte
		layout Layout
	}{"spins": {spins.Bytes(), Layout{{"spins", 256, Int8}}}, "floats": {floats.Bytes(), Layout{{"x", 64, Float32}}}} {
		for _, fast := range []bool{true, false} {
			b.Run(name+map[bool]string{true: "/simdjson", false: "/standard"}[fast], func(b *testing.B) {
				b.SetBytes(int64(len(c.text)))
				for b.Loop() {
					err := c.layout.each(bytes.NewReader(c.text), limits, 1, fast && simd, func([]byte, []int) error { return nil })
					require.NoError(b, err)
				}
			})
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
