package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var limits = Limits{Bytes: 1 << 20, Depth: 32}

// read returns what is read of a text, one line for each.
func read(text []byte, l Limits, fast bool) (all []string) {
	err := each(bytes.NewReader(text), l, fast && simd, func(line int, v *Value, reason string) {
		if reason != "" {
			all = append(all, (&Error{line, reason}).Error())
			return
		}
		all = append(all, fmt.Sprintf("%d %s", line, v.String()))
	})
	if err != nil {
		all = append(all, err.Error())
	}
	return all
}

func TestMain(m *testing.M) {
	// REVGEN_TEST_REQUIRE names a path that tests may not pass by.
	if want := os.Getenv("REVGEN_TEST_REQUIRE"); (want == "avx2" || want == "avx512") && !simd {
		fmt.Fprintln(os.Stderr, "simdjson does not take this processor")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestValues(t *testing.T) {
	text := `{"b": [1, -2, 18446744073709551615, 0.25, 1e6, true, false, null], "a": "x\n\"ü", "o": {}}

  [ ]  ` + "\r\n" + `{"last":0}`
	want := []string{
		`1 {"b":[1,-2,18446744073709551615,0.25,1e+06,true,false,null],"a":"x\n\"ü","o":{}}`, "3 []", `4 {"last":0}`,
	}
	for _, fast := range []bool{false, true} {
		require.Equal(t, want, read([]byte(text), limits, fast))
	}
	v, err := Parse([]byte("[-2, 18446744073709551615, 0.25, true]"), limits.Depth)
	require.NoError(t, err)
	minusTwo := int64(-2)
	require.Equal(t, []uint64{uint64(minusTwo), math.MaxUint64, math.Float64bits(0.25), 1}, []uint64{v.Items[0].bits, v.Items[1].bits, v.Items[2].bits, v.Items[3].bits})
	require.Equal(t, []Kind{Int, Uint, Float, Bool}, []Kind{v.Items[0].Kind, v.Items[1].Kind, v.Items[2].Kind, v.Items[3].Kind})
}

// What is wrong is said of its line, and the lines around it stand, whichever
// parser comes first.
func TestErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{"a":1`:                     "ends too early",
		`{"a":1}}`:                   "more than one value",
		`{"a":1} {"b":2}`:            "more than one value",
		`{"a":1,"b":2,"a":3}`:        `the key "a" stands twice`,
		`{"o":{"x":1,"x":2}}`:        `the key "x" stands twice`,
		"{\"a\":\"\xff\"}":           "byte 7, 0xff, is not valid UTF-8",
		`{"a":18446744073709551616}`: "18446744073709551616 is beyond the whole numbers of 64 bits",
		`{"a":-9223372036854775809}`: "-9223372036854775809 is beyond",
		`{"a":1e999}`:                "1e999 is too large",
		`{"a":1e-999}`:               "1e-999 is too small",
		`{"a":"\u00 !"}`:             "invalid character",
		"{\"a\":\"\x01\"}":           "invalid character",
		`{"a":01}`:                   "invalid character",
		`{a:1}`:                      "invalid character",
		`{"a":NaN}`:                  "invalid character",
		`nul`:                        "invalid character",
		`3`:                          "a number where an object or a list is needed",
		`"text"`:                     "a string where",
		strings.Repeat("[", 33) + strings.Repeat("]", 33): "nested too deep",
		strings.Repeat("[", 100000):                       "nested too deep",
		`["` + strings.Repeat("x", 1<<20) + `"]`:          "longer than 1048576 bytes",
	} {
		text := `{"before":1}` + "\n" + line + "\n" + `{"after":1}` + "\n"
		for _, fast := range []bool{false, true} {
			got := read([]byte(text), limits, fast)
			require.Len(t, got, 3, "%.40s", line)
			require.Equal(t, `1 {"before":1}`, got[0])
			require.Contains(t, got[1], "line 2: ", "%.40s", line)
			require.Contains(t, got[1], want, "%.40s", line)
			require.Equal(t, `3 {"after":1}`, got[2])
		}
	}
	deepest := strings.Repeat("[", 32) + strings.Repeat("]", 32)
	require.Equal(t, []string{"1 " + deepest}, read([]byte(deepest), limits, true))
	require.Empty(t, read([]byte(" \n\n"), limits, true))
}

// A value over two lines is two bad lines: simdjson would take it, and its pieces
// must not be counted as those of others.
func TestValueOverLines(t *testing.T) {
	got := read([]byte("{\"a\":\n1}\n{\"b\":2}{\"c\":3}\n"), limits, true)
	require.Len(t, got, 3)
	for i, line := range got {
		require.Contains(t, line, fmt.Sprintf("line %d: ", i+1))
	}
}

func TestOneBadLineAmongMany(t *testing.T) {
	var b bytes.Buffer
	for i := range 10000 {
		if i == 7654 {
			b.WriteString("{\"i\": }\n")
			continue
		}
		fmt.Fprintf(&b, "{\"i\": %d}\n", i)
	}
	got := read(b.Bytes(), limits, true)
	require.Len(t, got, 10000)
	for i, line := range got {
		if i == 7654 {
			require.Contains(t, line, "line 7655: ")
			continue
		}
		require.Equal(t, fmt.Sprintf(`%d {"i":%d}`, i+1, i), line)
	}
}

func TestManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	got := read([]byte("{"+b.String()+`"k50":1}`), limits, true)
	require.Contains(t, got[0], `the key "k50" stands twice`)
	require.Contains(t, read([]byte("{"+b.String()+`"k":1}`), limits, true)[0], `"k99":99,"k":1}`)
}

func TestReadError(t *testing.T) {
	var all []string
	err := Each(io.MultiReader(strings.NewReader("{}\n"), failing{}), limits, func(line int, v *Value, reason string) {
		all = append(all, fmt.Sprint(line, " ", v.String(), reason))
	})
	require.Equal(t, []string{"1 {}"}, all)
	require.EqualError(t, err, "disk on fire")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

// Both parsers take and refuse the same, for the same reasons.
func FuzzParsersAgree(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e3,-0,-0.0,"x\ty",null,true],"b":{"c":{}}}`, "[1]\n[2]\n", `{"a":"\ud800"}`, `{"a":"\u00 !"}`, "[01]", "[1.]", "[-]", "[1e5,1E+5,1e400,5e-324,1e-400]",
		"[nul]", "[truee]", "[\"\\x\"]", "{\"a\":1,}", "[1,]", "[,1]", "{\"a\" 1}", "{\"a\":1}\r\n{}", "\ufeff{}", "[]]", "[}", "{]", "[\"a\"\"b\"]", "[1 2]", "{\"a\":1 \"b\":2}",
		"[18446744073709551615,18446744073709551616,-9223372036854775808,-9223372036854775809]", "[\x00]", "[\"\x00\"]", "[\x0b]", "[\u00a0]", "\u0085[]", "[\"\u2028\"]", "[1\t,\t2]",
		`{"":1,"":2}`, `{"a":{"a":{"a":[[[[]]]]}}}`, "[1e]", "[.5]", "[+1]", "[0x1]", "[Infinity]", "[1_0]", `["\/\b\f\n\r\t\\\""]`,
	} {
		f.Add([]byte(seed))
	}
	small := Limits{Bytes: 1 << 12, Depth: 6}
	f.Fuzz(func(t *testing.T, text []byte) {
		require.Equal(t, read(text, small, false), read(text, small, true))
	})
}

func BenchmarkRead(b *testing.B) {
	line := `{"id":"beta-0.44","train":"ising","preset":"quick","set":{"target.l":16,"target.beta":0.4407,"training.steps":2000},"seed":7,"out":"runs/a"}` + "\n"
	text := strings.Repeat(line, 10000)
	for _, fast := range []bool{true, false} {
		b.Run(map[bool]string{true: "simdjson", false: "standard"}[fast], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				require.NoError(b, each(strings.NewReader(text), limits, fast && simd, func(int, *Value, string) {}))
			}
		})
	}
}
