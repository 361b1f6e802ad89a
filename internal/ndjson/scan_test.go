package ndjson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScan: lists that the quick parser takes, with the numbers that strconv reads, and those
// that it leaves to the others.
func TestScan(t *testing.T) {
	f := Field{"x", 3, Float64}
	for _, numbers := range []string{
		"1,2,3", "-0,0,-7", "0.5,-0.25,10.125", "1e5,1E5,1e+5", "1.5e-3,-2.25E+7,1e-5", "123456789012345678,-999999999999999999,100000000000000000",
		"9007199254740991.0,9007199254740993.0,9007199254740993e1", "1e22,1e23,1e-22", "1e-23,123e-22,7e21", "1e100,-1e-300,1e308", "0.0,-0.0,0.000",
		"0.123456789012345678,0.18446744073709551617,1.8446744073709551617", "3.141592653589793,2.718281828459045,0.1", "12345678.9e-22,1.0e23,4.9e-324", "1e000,1e022,1e-99",
	} {
		for _, line := range []string{"[" + numbers + "]", " [ [" + strings.Replace(numbers, ",", " ] , [\t", 1) + "] ] \r\n", "[[" + strings.ReplaceAll(numbers, ",", "],[") + "]]", "[[[" + numbers + "]]]"} {
			dst := make([]byte, 24)
			require.True(t, f.scan(dst, []byte(line), 3), line)
			for i, text := range strings.Split(numbers, ",") {
				want, err := strconv.ParseFloat(text, 64)
				require.NoError(t, err)
				if !strings.ContainsAny(text, ".eE") {
					want += 0 // whole numbers have no −0
					want = float64(int64(want))
				}
				require.Equal(t, math.Float64bits(want), binary.LittleEndian.Uint64(dst[8*i:]), text)
			}
		}
	}
	for _, line := range []string{
		"", "[", "[]", "[1]", "[1,2]", "[1,2,3", "[1,2,3,4]", "[1,2,3]]", "[1,2,3]x", "[[1,2,3]", "1,2,3", "[1,2,3],", "[1 2,3]", "[1,,3]", "[1,2,]", "[[[[1,2,3]]]]", "[1,2,[3]", "{\"x\":[1,2,3]}",
		"[01,2,3]", "[00,2,3]", "[-01,2,3]", "[1.,2,3]", "[.5,2,3]", "[-,2,3]", "[1e,2,3]", "[1e+,2,3]", "[1e1000,2,3]", "[1e0001,2,3]", "[0e5,2,3]", "[0.0e1,2,3]", "[1e400,2,3]", "[1e-400,2,3]", "[1f5,2,3]",
		"[1234567890123456789,2,3]", "[18446744073709551617.0,2,3]", "[1234567890123456789.5,2,3]", "[+1,2,3]", "[\"1\",2,3]", "[null,2,3]", "[1.5.2,2,3]", "[1e5e5,2,3]", "[1e999,2,3]", "[1,2,3\x00]", "[1;2,3]", "[:,2,3]", "[1,2,3]\f",
	} {
		require.False(t, f.scan(make([]byte, 24), []byte(line), 3), line)
	}
	for _, c := range []struct {
		typ  NumberType
		line string
		want []byte
	}{
		{Int8, "[127,-128]", []byte{127, 128}}, {Int8, "[1.0,-1e0]", []byte{1, 255}}, {Int8, "[1,-1]", []byte{1, 255}}, {Int8, "[128,1]", nil}, {Int8, "[1,-129]", nil}, {Int8, "[0.5,1]", nil},
		{Int32, "[2147483647,-2147483648]", []byte{255, 255, 255, 127, 0, 0, 0, 128}}, {Int32, "[2147483648,1]", nil}, {Int32, "[1,-2147483649]", nil}, {Int32, "[1e9,2.5e1]", []byte{0, 202, 154, 59, 25, 0, 0, 0}}, {Int32, "[1e13,1]", nil},
		{Uint64, "[0,1]", []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}}, {Uint64, "[-1,1]", nil}, {Uint64, "[1.0,1]", nil},
		{Float32, "[1,0.1]", []byte{0, 0, 128, 63, 205, 204, 204, 61}}, {Float32, "[3.4028235e38,1]", []byte{255, 255, 127, 127, 0, 0, 128, 63}}, {Float32, "[3.4028236e38,1]", nil},
	} {
		dst := make([]byte, 2*typeSizes[c.typ])
		require.Equal(t, c.want != nil, (&Field{"x", 2, c.typ}).scan(dst, []byte(c.line), 1), c.line)
		if c.want != nil {
			require.Equal(t, c.want, dst, c.line)
		}
		// The parser that says what is wrong has the same limits.
		for _, fast := range []bool{false, true} {
			got := rows(Layout{{"x", 2, c.typ}}, []byte(c.line), limits, 1, fast)
			require.Len(t, got, 1)
			if c.want != nil {
				require.Equal(t, fmt.Sprintf("1 %x", c.want), got[0])
			} else {
				require.Contains(t, got[0], " and not "+typeNames[c.typ])
			}
		}
	}
	require.Equal(t, []string{"1 ffffffffffffffff0000000000000080"}, rows(Layout{{"x", 2, Uint64}}, []byte("[18446744073709551615,9223372036854775808]"), limits, 1, true))
	require.Equal(t, []string{"1 000000000000f043000000000000e0c3"}, rows(Layout{{"x", 2, Float64}}, []byte("[18446744073709551615,-9223372036854775808]"), limits, 1, true))
	require.Equal(t, []string{"line 1: number 0 is 18446744073709551615 and not a whole number of 32 bits"}, rows(Layout{{"x", 1, Int32}}, []byte("[18446744073709551615]"), limits, 1, true))
}

// TestScanSigns compares with a loop over prefixes, on all that begins like signs.
func TestScanSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"1,", "-1,", "1, ", "-1, ", "1,  ", "1]", "-1]", "-", "11,", "1 ,", "=1,", "-,", ",", "1"}
	for range 5000 {
		var line string
		for range r.IntN(7) {
			line += pieces[min(r.IntN(len(pieces)), r.IntN(len(pieces)), r.IntN(len(pieces)))]
		}
		dst, want := make([]byte, r.IntN(6)), []byte{}
		rest := line
		for len(want) < len(dst) && len(rest) >= 3 {
			if after, ok := strings.CutPrefix(rest, "1,"); ok {
				want, rest = append(want, 1), strings.TrimPrefix(after, " ")
			} else if after, ok := strings.CutPrefix(rest, "-1,"); ok {
				want, rest = append(want, 255), strings.TrimPrefix(after, " ")
			} else {
				break
			}
			if strings.HasPrefix(rest, "  ") {
				break
			}
		}
		got := scanSigns(dst, []byte(line))
		require.Equal(t, signRun{len(want), len(line) - len(rest)}, got, "%q", line)
		require.Equal(t, want, append([]byte{}, dst[:got.numbers]...), "%q", line)
	}
	for text, want := range map[string]int{"": 0, " \t\r\nx": 4, "x ": 0, "\v": 0, "  ": 2, "\f1": 0, "\x001": 0} {
		require.Equal(t, want, skipBlanks([]byte(text), 0), "%q", text)
	}
	require.Equal(t, 3, skipBlanks([]byte("x  y"), 1))
}

// TestPlain: what simdjson may be given.
func TestPlain(t *testing.T) {
	for line, want := range map[string]bool{
		"[]": true, "{}": true, " [1] \r\n": true, `{"a":"}"}`: true, `["\""]`: true, `["\\"]`: true, "[\t1]": true, "[[[]]]": true, "[[],[[]]]": true, `["é"]`: true, `["a","b"]`: true, "[[[[]]]]": true,
		"1": false, `"a"`: false, "[": false, "[]]": false, "[][]": false, "[1] 2": false, "[\x01]": false, "[\x1f]": false, "[\"\x1f\"]": false, "[\"\x01\"]": false,
		`["\u0041"]`: false, `["`: false, `["a]`: false, `["\`: false, `["\"]`: false, "[\xff]": false, "x[]": false, "]": false, `["a\u"]`: false,
	} {
		require.Equal(t, want, isPlain([]byte(line)), "%q", line)
	}
}

// TestTapes: blocks of plain lines are taken by simdjson, and no others; lines of which it has not
// the value go to the other parser.
func TestTapes(t *testing.T) {
	if !simd {
		t.Skip("no simdjson on this machine")
	}
	of := func(text string) *lines {
		at := strings.IndexByte(text, '\n') + 1
		return &lines{text: []byte(text), spans: []span{{7, 0, at}, {9, at, len(text)}}}
	}
	tape := newTape(true)
	for _, c := range []struct {
		text  string
		taken bool
		want  []string
	}{
		{"[1,-2,18446744073709551615,0.5,true,false,null,\"a\"]\n{\"a\":{\"b\":[]}}", true, []string{`7 [1,-2,18446744073709551615,0.5,true,false,null,"a"] `, `9 {"a":{"b":[]}} `}},
		{"[1.]\n[1]", false, []string{"7 null byte 2: invalid character ']' after decimal point in numeric literal", "9 [1] "}},
		{"[1]\n[18446744073709551616]", true, []string{"7 [1] ", "9 null 18446744073709551616 is beyond the whole numbers of 64 bits"}},
		{"[1]\n[0.0]", true, []string{"7 [1] ", "9 [0] "}}, {"[1e-999]\n[1]", true, []string{"7 null 1e-999 is too small for a float64; write 0", "9 [1] "}},
		{"[1]\n{\"a\":1,\"a\":2}", true, []string{"7 [1] ", `9 null the key "a" stands twice in one object`}}, {"[1]\n[\"\\u0041\"]", false, []string{"7 [1] ", `9 ["A"] `}},
		{"[1]\n[[[[1]]]]", true, []string{"7 [1] ", "9 null nested too deep"}}, {"[1]\n{\"a\":[[{}]]}", true, []string{"7 [1] ", "9 null nested too deep"}},
		{"[2]\n[3]", true, []string{"7 [2] ", "9 [3] "}}, {"[1]\n{\"a\":[[1]]}", true, []string{"7 [1] ", `9 {"a":[[1]]} `}},
	} {
		require.Equal(t, c.taken, tape.read(of(c.text)), c.text)
		var got []string
		each := func(line int, v *Value, reason string) bool {
			if reason != "" {
				v = new(Value)
			}
			got = append(got, fmt.Sprint(line, " ", v.String(), " ", reason))
			return true
		}
		of(c.text).values(tape, 3, each)
		require.Equal(t, c.want, got, c.text)
		got = nil
		of(c.text).values(nil, 3, each)
		require.Equal(t, c.want, got, "by the other parser: %s", c.text)
		for _, fast := range []bool{true, false} {
			calls := 0
			of(c.text).values(newTape(fast), 3, func(int, *Value, string) bool { calls++; return false })
			require.Equal(t, 1, calls, "it ends when it is told to")
		}
	}
	require.False(t, tape.read(&lines{text: []byte("[1]\n[2]\n"), spans: []span{{1, 0, 4}}}), "a line more than was said")
	require.False(t, tape.read(&lines{text: []byte("[1]\n"), spans: []span{{1, 0, 4}, {2, 0, 4}}}), "a line less")
	one := lines{text: []byte("[1,1,1,1]"), spans: []span{{1, 0, 9}}}
	require.True(t, (&block{tape: tape, layout: signs, depth: limits.Depth, lines: one}).parseLists())
	require.False(t, (&block{layout: signs, depth: limits.Depth, lines: one}).parseLists())
	require.False(t, (&block{tape: tape, layout: states, depth: limits.Depth, lines: one}).parseLists())
	require.False(t, tape.read(new(lines)), "of no lines")
	require.False(t, newTape(false).read(&one), "by none")
}

// TestLongestLine: a line may have as many bytes as the limit, without its end, whatever comes
// before it.
func TestLongestLine(t *testing.T) {
	for _, end := range []string{"", "\n", "\r\n"} {
		for _, before := range []string{"", "[1]\n"} {
			line := "[1" + strings.Repeat(" ", 60) + "]"
			number := 1 + strings.Count(before, "\n")
			for _, fast := range []bool{false, true} {
				at, short := Limits{63, 8}, Limits{62, 8}
				require.Equal(t, fmt.Sprintf("%d [1]", number), read([]byte(before+line+end), at, fast)[number-1])
				require.Equal(t, fmt.Sprintf("line %d: longer than 62 bytes", number), read([]byte(before+line+end), short, fast)[number-1])
				one := Layout{{"x", 1, Int8}}
				require.Equal(t, fmt.Sprintf("%d 01", number), rows(one, []byte(before+line+end), at, 1, fast)[number-1])
				require.Equal(t, fmt.Sprintf("line %d: longer than 62 bytes", number), rows(one, []byte(before+line+end), short, 1, fast)[number-1])
			}
		}
	}
	require.Equal(t, []string{"line 1: longer than 62 bytes", "2 [1]"}, read([]byte("["+strings.Repeat(" ", 1<<18)+"]\n[1]"), Limits{62, 8}, true), "and the next is read")
	deep := strings.Repeat("[", 8) + "1" + strings.Repeat("]", 8)
	for _, fast := range []bool{false, true} {
		require.Equal(t, []string{"1 01"}, rows(Layout{{"x", 1, Int8}}, []byte(deep), Limits{99, 8}, 1, fast))
		require.Equal(t, []string{"line 1: nested too deep"}, rows(Layout{{"x", 1, Int8}}, []byte(deep), Limits{99, 7}, 1, fast))
	}
}

// TestFirstErrorWins: what is wrong with a line comes before what is wrong after it.
func TestFirstErrorWins(t *testing.T) {
	long := "[" + strings.Repeat("1,", 100) + "1]\n"
	for _, fast := range []bool{false, true} {
		require.Equal(t, []string{"1 01010101", "line 2: 1 numbers where 4 are needed"}, rows(signs, []byte("[1,1,1,1]\n[1]\n"+long), Limits{40, 8}, 1, fast))
		require.Equal(t, []string{"line 1: 5 numbers where 4 are needed"}, rows(signs, []byte("[1,1,1,1,1]\n[1,1,1,1]\n"), Limits{40, 8}, 1, fast))
		var lines []int
		err := signs.each(io.MultiReader(strings.NewReader("[1,1,1,1]\n[1]\n"), failing{}), limits, 1, fast && simd, func(_ []byte, of []int) error { lines = append(lines, of...); return nil })
		require.EqualError(t, err, "line 2: 1 numbers where 4 are needed")
		require.Equal(t, []int{1}, lines)
	}
	for line, want := range map[string]string{
		`{"x":[1,2],"k":{}}`: "k: number 0 is an object", `{"x":[1,true],"k":1}`: "x: number 1 is a boolean", `{"x":[1,2]}`: `lacks a key; a line is {"x": [… 2 numbers], "k": …}`,
		`{"x":[1,[2,3]],"k":1}`: "x: 3 numbers where 2 are needed", `{"x":1,"k":1}`: "x: 1 numbers where 2 are needed", `{"x":[1,2],"k":1,"z":1}`: `"z": unknown key; a line is {"x": [… 2 numbers], "k": …}`,
		"[1,2,3]": `a list where an object is needed: {"x": [… 2 numbers], "k": …}`, "true": "a boolean where an object or a list is needed", "null": "null where an object or a list is needed",
		"[1] [2]": "more than one value; each stands on a line of its own", "[1": "ends too early: a closing bracket or quote is missing", "[1,2\x00]": "byte 5: invalid character '\\x00' after array element",
		"[\"\xc3\"]": "byte 3, 0xc3, is not valid UTF-8", "[\"é\xff\"]": "byte 5, 0xff, is not valid UTF-8",
	} {
		for _, fast := range []bool{false, true} {
			require.Equal(t, []string{"line 1: " + want}, rows(states, []byte(line), limits, 1, fast), line)
		}
	}
	require.Equal(t, 12, states.RowBytes())
	require.Equal(t, `a list of 1 numbers, or {"bits": …}`, words.String())
}

// TestKeysThatStandTwice are found among few and among many.
func TestKeysThatStandTwice(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 18, 40} {
		members := make([]Member, n)
		for i := range members {
			members[i].Key = strconv.Itoa(i)
		}
		_, twice := duplicate(members)
		require.False(t, twice, n)
		for _, at := range [][2]int{{0, n - 1}, {0, 1}, {n - 2, n - 1}} {
			changed := append([]Member{}, members...)
			changed[at[1]].Key = changed[at[0]].Key
			key, twice := duplicate(changed)
			require.True(t, twice)
			require.Equal(t, changed[at[0]].Key, key)
		}
	}
}

// TestNumberOfJSON: whole numbers are what 64 bits hold, others what float64 holds.
func TestNumberOfJSON(t *testing.T) {
	for literal, want := range map[string]Value{
		"-9223372036854775808": {Kind: Int, bits: 1 << 63}, "9223372036854775807": {Kind: Int, bits: 1<<63 - 1}, "9223372036854775808": {Kind: Uint, bits: 1 << 63}, "1e2": {Kind: Float, bits: math.Float64bits(100)},
		"0.0e-999": {Kind: Float}, "2E0": {Kind: Float, bits: 1 << 62}, "0.5": {Kind: Float, bits: math.Float64bits(0.5)},
	} {
		got, err := Number(literal)
		require.NoError(t, err)
		require.Equal(t, want, got, literal)
	}
	for literal, want := range map[string]string{
		"18446744073709551616": "18446744073709551616 is beyond the whole numbers of 64 bits", "1e309": "1e309 is too large for a float64", "0.01E-400": "0.01E-400 is too small for a float64; write 0",
	} {
		_, err := Number(literal)
		require.EqualError(t, err, want)
	}
	for kind, want := range []string{"null", "a boolean", "a number", "a number", "a number", "a string", "a list", "an object"} {
		require.Equal(t, want, Kind(kind).String())
	}
	stop := errors.New("stop")
	require.ErrorIs(t, signs.Each(strings.NewReader("[1,1,1,1]\n[2]"), limits, 1, func([]byte, []int) error { return stop }), stop)
}
