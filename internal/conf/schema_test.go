package conf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// span reads JSON of a form of its own, "3-5".
type span struct{ low, high int }

// UnmarshalJSON implements json.Unmarshaler.
func (s *span) UnmarshalJSON(b []byte) error {
	if n, err := fmt.Sscanf(string(b), `"%d-%d"`, &s.low, &s.high); n != 2 {
		return fmt.Errorf("%s is no span: %w", b, err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s span) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%d-%d"`, s.low, s.high), nil }

type base struct {
	Kind string `json:"kind" enum:"near,far"`
	Far  int    `json:"far" when:"kind=far"`
	Name string `json:"name"`
}

type stop struct {
	base  `when:"open=yes,maybe"`
	Open  string `json:"open" enum:"yes,no,maybe" only:"yes route.kind=bus,"`
	Name  string `json:"name"`
	Raw   uint8
	Quiet bool `json:"quiet" only:"true open=no;false kind=near"`
}

type route struct {
	Kind string `json:"kind" enum:"bus,tram"`
}

type everything struct {
	Route  route              `json:"route"`
	Stop   stop               `json:"stop"`
	Spans  []span             `json:"spans"`
	City   string             `json:"city"`
	Shape  *shape             `json:"shape"`
	Ratio  float32            `json:"ratio"`
	Window [2]float64         `json:"window"`
	Labels map[string]int     `json:"labels"`
	Deep   map[string][]int64 `json:"deep"`
	Many   []term             `json:"many"`
	Wide   uint64             `json:"wide"`
	Low    int8               `json:"low"`
	hidden int
}

// TestSchema holds a schema of every kind of field.
func TestSchema(t *testing.T) {
	_ = everything{}.hidden
	s := Schema(new(everything), "all", func(field string) string {
		if _, name, _ := strings.Cut(field, "conf."); name == "base.Far" || name == "route.Kind" {
			return "of " + name
		}
		return ""
	})
	text, err := json.Marshal(s)
	require.NoError(t, err)
	const integer, number = `{"type": "integer"}`, `{"type": "number"}`
	unless := func(key, values, gone string) string {
		return `{"if": {"required": ["` + key + `"], "properties": {"` + key + `": {"not": {"enum": [` + values + `]}}}}, "then": {"properties": {"` + gone + `": false}}}`
	}
	in := func(keys, schema string) string {
		for _, k := range strings.Fields(keys) {
			schema = `{"type": "object", "required": ["` + k + `"], "properties": {"` + k + `": ` + schema + `}}`
		}
		return schema
	}
	excluded := func(other, values, key, value string) string {
		return `{"if": ` + in(other, `{"not": {"enum": [`+values+`]}}`) + `, "then": {"not": ` + in(key, `{"enum": [`+value+`]}`) + `}}`
	}
	require.JSONEq(t, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "all", "type": "object", "additionalProperties": false,
		"allOf": [`+excluded("kind route", `"bus", ""`, "open stop", `"yes"`)+`, `+excluded("open stop", `"no"`, "quiet stop", "true")+`, `+excluded("kind stop", `"near"`, "quiet stop", "false")+`],
		"properties": {
			"route": {"type": "object", "additionalProperties": false, "properties": {"kind": {"type": "string", "enum": ["bus", "tram"], "description": "of route.Kind"}}},
			"stop": {"type": "object", "additionalProperties": false, "properties": {
					"kind": {"type": "string", "enum": ["near", "far"]}, "far": {"type": "integer", "description": "of base.Far"}, "name": {"type": "string"},
					"open": {"type": "string", "enum": ["yes", "no", "maybe"]}, "Raw": {"type": "integer", "minimum": 0}, "quiet": {"type": "boolean"}},
				"allOf": [`+unless("open", `"yes", "maybe"`, "kind")+`, `+unless("open", `"yes", "maybe"`, "far")+`, `+unless("kind", `"far"`, "far")+`]},
			"spans": {"type": ["array", "null"], "items": {}}, "city": {"type": "string"}, "shape": {"type": "string"}, "ratio": `+number+`,
			"window": {"type": ["array", "null"], "items": `+number+`, "minItems": 2, "maxItems": 2},
			"labels": {"type": ["object", "null"], "additionalProperties": `+integer+`},
			"deep": {"type": ["object", "null"], "additionalProperties": {"type": ["array", "null"], "items": `+integer+`}},
			"many": {"type": ["array", "null"], "items": {"type": "object", "additionalProperties": false, "properties": {"c": `+number+`, "weight": `+number+`}}},
			"wide": {"type": "integer", "minimum": 0}, "low": `+integer+`}}`, string(text))
	plain := Schema(new(term), "plain", func(string) string { return "" })
	require.NotContains(t, plain, "allOf")
	require.Equal(t, "plain", plain["title"])
}

// TestDescribe holds what is said of every kind of key.
func TestDescribe(t *testing.T) {
	const pkg = "github.com/revgen/revgen/internal/conf."
	stop := func(key, field, typ, when, only string, enum ...string) Key {
		return Key{"stop." + key, pkg + field, typ, enum, when, only}
	}
	plain := func(key, field, typ string) Key { return Key{key, pkg + "everything." + field, typ, nil, "", ""} }
	const open = "stop.open=yes,maybe"
	require.Equal(t, []Key{
		{"route.kind", pkg + "route.Kind", "string", []string{"bus", "tram"}, "", ""},
		stop("kind", "base.Kind", "string", open, "", "near", "far"),
		stop("far", "base.Far", "integer", open+" stop.kind=far", ""),
		stop("open", "stop.Open", "string", "", "yes with route.kind=bus", "yes", "no", "maybe"),
		stop("name", "stop.Name", "string", "", ""),
		stop("Raw", "stop.Raw", "integer", "", ""),
		stop("quiet", "stop.Quiet", "boolean", "", "true with stop.open=no; false with stop.kind=near"),
		plain("spans", "Spans", "array of value"), plain("city", "City", "string"), plain("shape", "Shape", "string"), plain("ratio", "Ratio", "number"),
		plain("window", "Window", "array of number"), plain("labels", "Labels", "object"), plain("deep", "Deep", "object"), plain("many", "Many", "array of object"),
		plain("wide", "Wide", "integer"), plain("low", "Low", "integer"),
	}, Describe(new(everything)))
	require.Equal(t, []string{"yes", "no", "maybe"}, Values(new(everything), "stop.open"))
	require.Equal(t, []string{"bus", "tram"}, Values(new(everything), "route.kind"))
	require.Nil(t, Values(new(everything), "stop.name"))
	require.PanicsWithValue(t, "conf: *conf.everything has no key stop.none", func() { Values(new(everything), "stop.none") })
}

// TestOwnForms: types that read themselves say what is wrong, at their place.
func TestOwnForms(t *testing.T) {
	var c everything
	require.NoError(t, Decode([]byte(`{"spans": ["3-5", "7-9"], "city": "Ulm", "shape": "ring"}`), "f", &c))
	require.Equal(t, []span{{3, 5}, {7, 9}}, c.Spans)
	require.Equal(t, "Ulm", c.City)
	require.Equal(t, shape("ring"), *c.Shape)
	err := Decode([]byte(`{"spans": ["3-5", 7]}`), "f", &c)
	require.EqualError(t, err, "f:1:19: spans[1]: 7 is no span: input does not match format")
	require.ErrorContains(t, err.(*Error).Unwrap(), "7 is no span")
	require.NoError(t, Set(&c, "shape=null"))
	require.Nil(t, c.Shape)
	for value, name := range map[string]string{"null": "null", "true": "true", "12": "12", `"12"`: "12", "Bad Ems": "Bad Ems"} {
		require.NoError(t, Set(&c, "city="+value, "stop.name="+value))
		require.Equal(t, name, c.City, value)
		require.Equal(t, name, c.Stop.Name, value)
	}
	for _, value := range []string{"[]", "{}"} {
		require.ErrorContains(t, Set(&c, "city="+value), "where a string is needed")
		require.ErrorContains(t, Set(&c, "stop.name="+value), "where a string is needed")
	}
	require.EqualError(t, Decode([]byte(`{"city": null}`), "f", &c), "f:1:10: city: null where a string is needed")
	require.EqualError(t, Decode([]byte(`{"city": true}`), "f", &c), "f:1:10: city: a boolean (true) where a string is needed")
	require.NoError(t, Set(&c, "labels=null", "deep={\"a\":3}"))
	require.Nil(t, c.Labels)
	require.Equal(t, map[string][]int64{"a": {3}}, c.Deep)
	require.EqualError(t, Decode([]byte(`{"window": null}`), "f", &c), "f:1:12: window: null where a list is needed")
	require.EqualError(t, Set(&c, "window=1"), "window: 1 values, where 2 are needed")
	require.EqualError(t, Set(&c, `many={"c":2}`), "many: an object where a list is needed")
	require.NoError(t, Set(&c, "window=1,2", `many=[{"c":2}]`))
	require.Equal(t, [2]float64{1, 2}, c.Window)
	require.Equal(t, []term{{C: 2}}, c.Many)
	require.PanicsWithValue(t, "conf: f: a configuration cannot hold a func()", func() {
		_ = Decode([]byte(`{"f": 1}`), "f", &struct {
			F func() `json:"f"`
		}{})
	})
	require.PanicsWithValue(t, "conf: m: a configuration cannot hold a map[int]int", func() {
		_ = Decode([]byte(`{"m": {}}`), "f", &struct {
			M map[int]int `json:"m"`
		}{})
	})
	require.PanicsWithValue(t, "conf: a waits for a key b that struct { A int \"json:\\\"a\\\" when:\\\"b=c\\\"\" } has not", func() {
		_, _ = Encode(&struct {
			A int `json:"a" when:"b=c"`
		}{})
	})
}

// TestChosen: what the choices leave out is zero in the copy, embedded and nested.
func TestChosen(t *testing.T) {
	c := &everything{Route: route{"bus"}, Stop: stop{base: base{Kind: "near", Far: 3, Name: "x"}, Open: "yes", Raw: 4}}
	d := Chosen(c)
	require.Equal(t, 3, c.Stop.Far)
	require.Equal(t, stop{base: base{Kind: "near", Name: "x"}, Open: "yes", Raw: 4}, d.Stop)
	c.Stop.Open = "no"
	require.Equal(t, stop{base: base{Name: "x"}, Open: "no", Raw: 4}, Chosen(c).Stop)
	require.EqualError(t, Decode([]byte(`{"stop": {"open": "no", "far": 1}}`), "f", new(everything)),
		`f:1:25: stop.far: with stop.open "no" there is no such key; remove it, or set stop.open to yes or maybe`)
	require.EqualError(t, Check(&everything{Route: route{"tram"}, Stop: stop{Open: "no"}}), "stop.quiet: false does not go with stop.kind, which is not there; set stop.quiet to true, or stop.kind to near")
	require.EqualError(t, Check(&everything{Route: route{"tram"}, Stop: stop{Open: "yes", base: base{Kind: "near"}}}),
		"stop.open: yes does not go with route.kind, which is tram; set stop.open to no or maybe, or route.kind to bus")
}

// TestDecodeAll: DecodeAll accepts keys of choices that are not made, and EncodeAll writes them.
func TestDecodeAll(t *testing.T) {
	d := &drawing{Frame: figure{Kind: "box", Width: 3, Radius: 5}}
	text, err := EncodeAll(d)
	require.NoError(t, err)
	require.Contains(t, string(text), `"radius":5`)
	require.Error(t, Decode(text, "f", new(drawing)))
	back := new(drawing)
	require.NoError(t, DecodeAll(text, "f", back))
	require.Equal(t, d, back)
	require.ErrorContains(t, DecodeAll([]byte(`{"frame": {"radios": 2}}`), "f", back), "frame.radios: unknown key; did you mean frame.radius?")
	require.NoError(t, SetAll(back, "frame.radius=7"))
	require.Equal(t, 7.0, back.Frame.Radius)
	require.Error(t, Set(back, "frame.radius=7"))
	require.EqualError(t, At([]byte("{\n \"frame\": {}}"), "f", "frame", fmt.Errorf("frame: too large")), "f:2:11: frame: too large")
	require.EqualError(t, At([]byte("{}"), "f", "frame", fmt.Errorf("too large")), "f: frame: too large")
}

// TestEditDistance compares with the recursion that defines it.
func TestEditDistance(t *testing.T) {
	var distance func(a, b string) int
	distance = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		least := min(distance(a[1:], b)+1, distance(a, b[1:])+1)
		if a[0] == b[0] {
			return min(least, distance(a[1:], b[1:]))
		}
		least = min(least, distance(a[1:], b[1:])+1)
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			least = min(least, distance(a[2:], b[2:])+1)
		}
		return least
	}
	words := []string{"", "a", "b", "ab", "ba", "abc", "acb", "bac", "abcd", "badc", "dcba", "bcda", "abab", "aabb", "xyz", "axbyc"}
	for _, a := range words {
		for _, b := range words {
			require.Equal(t, distance(a, b), editDistance(a, b), "%s, %s", a, b)
		}
	}
	long := strings.Repeat("a", 64)
	require.Equal(t, 1, editDistance(long, long[1:]))
	require.Equal(t, 65, editDistance(long+"a", long))
	require.Equal(t, 65, editDistance("a", long+"a"))
}

// TestAdvice: a key is a third of its letters off at most, or stands elsewhere, four objects
// deep at most.
func TestAdvice(t *testing.T) {
	type five struct {
		Lowest int `json:"lowest"`
	}
	type four struct {
		Five five `json:"five"`
		Deep int  `json:"deep"`
	}
	type three struct {
		Four four `json:"four"`
	}
	type two struct {
		Three three `json:"three"`
	}
	type one struct {
		Two two `json:"two"`
	}
	var c struct {
		One    one `json:"one"`
		Rather int `json:"abcdefghi"`
		Short  int `json:"xy"`
	}
	for key, want := range map[string]string{
		"abcdefxyz": "did you mean abcdefghi?", "abcdewxyz": "the keys here are one, abcdefghi, xy", "x": "did you mean xy?", "xyz": "did you mean xy?", "zzz": "the keys here are one, abcdefghi, xy",
		"deep": "did you mean one.two.three.four.deep?", "lowest": "the keys here are one, abcdefghi, xy", "Deep": "did you mean one.two.three.four.deep?", "A-b_c defghi": "did you mean abcdefghi?",
		"one.two": `write {"one": {"two": …}}`,
	} {
		require.EqualError(t, Decode(fmt.Appendf(nil, "{%q: 1}", key), "f", &c), "f:1:2: "+key+": unknown key; "+want)
	}
}

// TestLongValues are cut after 40 characters in messages.
func TestLongValues(t *testing.T) {
	var c config
	forty := strings.Repeat("é", 38)
	require.EqualError(t, Set(&c, "beta="+forty), `beta: a string ("`+forty+`") where a number is needed`)
	require.EqualError(t, Set(&c, "beta="+forty+"xy"), `beta: a string ("`+forty+`x…) where a number is needed`)
	require.EqualError(t, Set(&c, "beta=[1]"), "beta: a list where a number is needed")
	require.EqualError(t, Set(&c, "beta=null"), "beta: null where a number is needed")
	require.EqualError(t, Set(&c, `beta="7"`), `beta: a string ("7") where a number is needed`)
	require.EqualError(t, Decode([]byte(`{"beta": "7,5"}`), "f", &c), `f:1:10: beta: a string ("7,5") where a number is needed`)
	require.EqualError(t, Decode([]byte(`{"periodic": "true"}`), "f", &c), `f:1:14: periodic: a string ("true") where true or false is needed`)
	require.NoError(t, Set(&c, "beta=0.00e-400"), "it is 0")
	require.EqualError(t, Set(&c, "beta=0.01e-400"), "beta: 0.01e-400 is too small for a float64; write 0")
	require.EqualError(t, Set(&c, "l=+Infinity"), "l: +Infinity is not a whole number")
}
