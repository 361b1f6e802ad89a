package conf

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

type common struct {
	Schema   int      `json:"schema"`
	System   string   `json:"system"`
	Training training `json:"training"`
}

type training struct {
	Seed      uint64    `json:"seed"`
	Steps     int       `json:"steps"`
	Batch     int32     `json:"batch"`
	Optimizer optimizer `json:"optimizer"`
}

type optimizer struct {
	LearningRate float64 `json:"learning_rate"`
	Momentum     float32 `json:"momentum"`
}

// shape is a named choice.
type shape string

type term struct {
	C      float64 `json:"c"`
	Weight float64 `json:"weight"`
}

type config struct {
	common
	L          int                `json:"l"`
	Beta       float64            `json:"beta"`
	Shape      shape              `json:"shape"`
	Periodic   bool               `json:"periodic"`
	Bandwidths []float64          `json:"bandwidths"`
	Terms      []term             `json:"terms"`
	Field      *float64           `json:"field"`
	Window     [2]int             `json:"window"`
	Labels     map[string]float64 `json:"labels,omitempty"`
	Tiny       int8               `json:"tiny"`
	Secret     int                `json:"-"`
}

func preset() config {
	return config{
		common: common{Schema: 1, System: "test", Training: training{Seed: 1, Steps: 100, Batch: 64,
			Optimizer: optimizer{LearningRate: 1e-3, Momentum: 0.5}}},
		L: 3, Beta: 0.2, Shape: "square", Bandwidths: []float64{1, 2}, Window: [2]int{1, 2},
	}
}

func TestDecodeKeepsWhatIsMissing(t *testing.T) {
	c := preset()
	require.NoError(t, Decode([]byte(`{}`), "f", &c))
	require.Equal(t, preset(), c)

	require.NoError(t, Decode([]byte(`{
		"schema": 1, "l": 4, "shape": "ring", "periodic": true, "field": -0.5, "window": [3, 4], "tiny": -128,
		"terms": [{"c": 1, "weight": 2}, {"c": 3}], "labels": {"a": 1},
		"training": {"seed": 18446744073709551615, "steps": 1e5, "optimizer": {"learning_rate": 3E-4}}
	}`), "f", &c))
	field := -0.5
	want := preset()
	want.L, want.Shape, want.Periodic, want.Field, want.Window, want.Tiny = 4, "ring", true, &field, [2]int{3, 4}, -128
	want.Terms, want.Labels = []term{{1, 2}, {3, 0}}, map[string]float64{"a": 1}
	want.Training.Seed, want.Training.Steps, want.Training.Optimizer.LearningRate = math.MaxUint64, 100000, 3e-4
	require.Equal(t, want, c)

	require.NoError(t, Decode([]byte(`{"field": null, "bandwidths": null}`), "f", &c))
	require.Nil(t, c.Field)
	require.Nil(t, c.Bandwidths)
}

func TestDecodeSharesNothing(t *testing.T) {
	base := preset()
	field := 1.0
	base.Field = &field
	c := base
	require.NoError(t, Decode([]byte(`{"bandwidths": [7, 8], "field": 2}`), "f", &c))
	require.Equal(t, []float64{1, 2}, base.Bandwidths)
	require.Equal(t, 1.0, field)
	require.Equal(t, []float64{7, 8}, c.Bandwidths)
	require.Equal(t, 2.0, *c.Field)
}

func TestDecodeErrors(t *testing.T) {
	for _, tc := range []struct{ data, want string }{
		// Syntax.
		{"", "f:1:1: is empty; it must hold a JSON object"},
		{" \n ", "f:1:1: is empty; it must hold a JSON object"},
		{"{\n  \"l\": 3,\n}", "f:3:1: the comma before this } is one too many"},
		{`{"l": 3`, "f:1:8: ends too early: a closing bracket or quote is missing"},
		{`{"l": 3} x`, "f:1:10: invalid character 'x' after top-level value; there must be one JSON object and nothing after it"},
		{`{"l": 3}{"l": 3}`, "f:1:9: invalid character '{' after top-level value; there must be one JSON object and nothing after it"},
		{"{\n // size\n \"l\": 3}", "f:2:2: invalid character '/' looking for beginning of object key string; JSON has no comments"},
		{`{'l': 3}`, "f:1:2: invalid character '\\'' looking for beginning of object key string; strings stand in double quotes"},
		{`{l: 3}`, "f:1:2: invalid character 'l' looking for beginning of object key string; keys stand in double quotes"},
		{`{"beta": NaN}`, "f:1:10: not a number; numbers must be finite"},
		{`{"beta": Infinity}`, "f:1:10: not a number; numbers must be finite"},
		{"\ufeff{}", "f:1:1: starts with a byte order mark; save it as UTF-8 without one"},
		{"{\"system\": \"é\xff\"}", "f:1:14: byte 0xff is not valid UTF-8"},
		// Keys.
		{`{"bata": 1}`, "f:1:2: bata: unknown key; did you mean beta?"},
		{`{"Beta": 1}`, "f:1:2: Beta: unknown key; did you mean beta?"},
		{`{"training.batch": 1}`, `f:1:2: training.batch: unknown key; write {"training": {"batch": …}}`},
		{`{"batch": 1}`, "f:1:2: batch: unknown key; did you mean training.batch?"},
		{`{"training": {"beta": 1}}`, "f:1:15: training.beta: unknown key; did you mean beta?"},
		{"{\"training\": {\n\t\"optimizer\": {\"learningRate\": 1}}}", "f:2:16: training.optimizer.learningRate: unknown key; did you mean training.optimizer.learning_rate?"},
		{`{"training": {"optimizer": {"zzz": 1}}}`, "f:1:29: training.optimizer.zzz: unknown key; the keys here are learning_rate, momentum"},
		{`{"Secret": 1}`, "f:1:2: Secret: unknown key; the keys here are schema, system, training, l, beta, shape, periodic, bandwidths, terms, field, window, labels, tiny"},
		{`{"terms": [{"c": 1}, {"d": 2}]}`, "f:1:23: terms[1].d: unknown key; did you mean terms[1].c?"},
		{"{\"beta\": 1,\n\"beta\": 1}", "f:2:1: beta: this key stands here for the second time; remove one"},
		{`{"beta": 1, "\u0062eta": 1}`, "f:1:13: beta: this key stands here for the second time; remove one"},
		{`{"training": {"steps": 1, "steps": 2}}`, "f:1:27: training.steps: this key stands here for the second time; remove one"},
		{`{"labels": {"a": 1, "a": 2}}`, "f:1:21: labels.a: this key stands here for the second time; remove one"},
		// Types.
		{`[]`, "f:1:1: a list where an object with keys such as schema is needed"},
		{`null`, "f:1:1: null where an object with keys such as schema is needed"},
		{`{"training": 3}`, "f:1:14: training: a number (3) where an object with keys such as seed is needed"},
		{`{"l": "3"}`, `f:1:7: l: a string ("3") where a whole number is needed; remove the quotes`},
		{`{"l": true}`, "f:1:7: l: a boolean (true) where a whole number is needed"},
		{`{"l": null}`, "f:1:7: l: null where a whole number is needed"},
		{`{"beta": "x"}`, `f:1:10: beta: a string ("x") where a number is needed`},
		{`{"beta": "NaN"}`, "f:1:10: beta: NaN is not a finite number"},
		{`{"beta": {}}`, "f:1:10: beta: an object where a number is needed"},
		{`{"periodic": 1}`, "f:1:14: periodic: a number (1) where true or false is needed"},
		{`{"system": 1}`, "f:1:12: system: a number (1) where a string is needed"},
		{`{"shape": 1}`, "f:1:11: shape: a number (1) where a string is needed"},
		{`{"bandwidths": 2}`, "f:1:16: bandwidths: a number (2) where a list is needed"},
		{`{"bandwidths": [1, "2"]}`, `f:1:20: bandwidths[1]: a string ("2") where a number is needed; remove the quotes`},
		{`{"window": [1]}`, "f:1:12: window: 1 values, where 2 are needed"},
		{`{"labels": 1}`, "f:1:12: labels: a number (1) where an object is needed"},
		// Numbers.
		{`{"l": 3.5}`, "f:1:7: l: 3.5 is not a whole number"},
		{`{"l": 1e-1}`, "f:1:7: l: 1e-1 is not a whole number"},
		{`{"l": 1e-999999999999}`, "f:1:7: l: 1e-999999999999 is not a whole number"},
		{`{"l": 1e999999999}`, "f:1:7: l: 1e999999999 is not between -9223372036854775808 and 9223372036854775807"},
		{`{"tiny": 128}`, "f:1:10: tiny: 128 is not between -128 and 127"},
		{`{"training": {"seed": -1}}`, "f:1:23: training.seed: -1 is not between 0 and 18446744073709551615"},
		{`{"training": {"seed": 18446744073709551616}}`, "f:1:23: training.seed: 18446744073709551616 is not between 0 and 18446744073709551615"},
		{`{"training": {"batch": 3e9}}`, "f:1:24: training.batch: 3e9 is not between -2147483648 and 2147483647"},
		{`{"beta": 1e400}`, "f:1:10: beta: 1e400 is too large for a float64"},
		{`{"beta": 1e-400}`, "f:1:10: beta: 1e-400 is too small for a float64; write 0"},
		{`{"training": {"optimizer": {"momentum": 1e39}}}`, "f:1:41: training.optimizer.momentum: 1e39 is too large for a float32"},
	} {
		c := preset()
		err := Decode([]byte(tc.data), "f", &c)
		require.EqualError(t, err, tc.want, "%s", tc.data)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "f", e.File)
		require.Positive(t, e.Line)
	}
}

func TestWholeNumbers(t *testing.T) {
	for literal, want := range map[string]uint64{
		"0": 0, "-0": 0, "0e99999999999": 0, "0.0e-5": 0, "20.0": 20, "1.5e1": 15, "1E+5": 100000, "1200e-2": 12,
		"9007199254740993": 9007199254740993, "18446744073709551615": math.MaxUint64, "1.8446744073709551615e19": math.MaxUint64,
	} {
		c := preset()
		require.NoError(t, Decode(fmt.Appendf(nil, `{"training": {"seed": %s}}`, literal), "f", &c), literal)
		require.Equal(t, want, c.Training.Seed, literal)
	}
}

func TestSet(t *testing.T) {
	c := preset()
	for _, a := range []string{
		"beta=0.5", "training.steps = 1e4", "shape=ring", "system=0.25", "periodic=true", "bandwidths=[1,2,4]",
		"terms=[{\"c\":1}]", "training.optimizer.learning_rate=1e-4", "field=2",
	} {
		require.NoError(t, Set(&c, a), a)
	}
	want := preset()
	field := 2.0
	want.Beta, want.Training.Steps, want.Shape, want.System, want.Periodic = 0.5, 10000, "ring", "0.25", true
	want.Bandwidths, want.Terms, want.Field = []float64{1, 2, 4}, []term{{C: 1}}, &field
	want.Training.Optimizer.LearningRate = 1e-4
	require.Equal(t, want, c)

	for a, want := range map[string][]float64{
		"bandwidths=3": {3}, "bandwidths=1,2.5": {1, 2.5}, "bandwidths=": {}, "bandwidths=[]": {}, "bandwidths=null": nil,
	} {
		require.NoError(t, Set(&c, a), a)
		require.Equal(t, want, c.Bandwidths, a)
	}
}

func TestSetErrors(t *testing.T) {
	for _, tc := range []struct{ assignment, want string }{
		{"beta", "beta: no value; write key.path=value"},
		{"=1", `"=1" names no key; write key.path=value`},
		{"beta=", `beta: a string ("") where a number is needed`},
		{"beta=NaN", "beta: NaN is not a finite number"},
		{"beta=-Inf", "beta: -Inf is not a finite number"},
		{"beta=cold", `beta: a string ("cold") where a number is needed`},
		{"l=3.5", "l: 3.5 is not a whole number"},
		{"l=nan", "l: nan is not a whole number"},
		{"bata=1", "bata: unknown key; did you mean beta?"},
		{"steps=1", "steps: unknown key; did you mean training.steps?"},
		{"training.step=1", "training.step: unknown key; did you mean training.steps?"},
		{"training..steps=1", "training.: unknown key; the keys here are seed, steps, batch, optimizer"},
		{"training=1", "training: a number (1) where an object with keys such as seed is needed"},
		{"beta.x=1", "beta: an object where a number is needed"},
		{"bandwidths=[1,2", "bandwidths: ends too early: a closing bracket or quote is missing"},
		{"bandwidths=1,x", `bandwidths: a string ("1,x") where a list, [a,b], is needed`},
		{"bandwidths[0]=1", "bandwidths[0]: items of a list cannot be set one by one; assign the whole list, key=[a,b]"},
		{"terms=[{\"c\":1,\"c\":2}]", "terms[0].c: this key stands here for the second time; remove one"},
		{"system=a\xffb", "byte 0xff is not valid UTF-8"},
	} {
		c := preset()
		require.EqualError(t, Set(&c, tc.assignment), tc.want, "%s", tc.assignment)
	}
}

func TestErrorUnwraps(t *testing.T) {
	cause := errors.New("cause")
	require.ErrorIs(t, &Error{Err: cause}, cause)
	require.EqualError(t, &Error{File: "f", Reason: "r"}, "f: r")
	require.EqualError(t, &Error{Line: 2, Column: 3, Path: "a", Reason: "r"}, "line 2:3: a: r")
}

func TestEncode(t *testing.T) {
	c := preset()
	c.Terms = []term{{1, 2}, {3, 4}}
	b, err := Encode(&c)
	require.NoError(t, err)
	require.Equal(t, `{
  "schema": 1,
  "system": "test",
  "training": {
    "seed": 1,
    "steps": 100,
    "batch": 64,
    "optimizer": {
      "learning_rate": 0.001,
      "momentum": 0.5
    }
  },
  "l": 3,
  "beta": 0.2,
  "shape": "square",
  "periodic": false,
  "bandwidths": [1, 2],
  "terms": [
    {
      "c": 1,
      "weight": 2
    },
    {
      "c": 3,
      "weight": 4
    }
  ],
  "field": null,
  "window": [1, 2],
  "tiny": 0
}
`, string(b))
	var back config
	require.NoError(t, Decode(b, "f", &back))
	require.Equal(t, c, back)

	c.Beta = math.NaN()
	_, err = Encode(&c)
	require.ErrorContains(t, err, "NaN")
}

func TestPosition(t *testing.T) {
	data := []byte("{\n  \"l\": 3,\n  \"training\": {\"steps\": 0},\n  \"terms\": [{\"c\": 1}, {\"c\": -1}]\n}")
	for path, want := range map[string][2]int{"l": {2, 8}, "training.steps": {3, 25}, "terms[1].c": {4, 29}, "terms[0].c": {4, 19}, "": {1, 1}} {
		line, column, ok := Position(data, path)
		require.True(t, ok, path)
		require.Equal(t, want, [2]int{line, column}, path)
	}
	for _, path := range []string{"beta", "terms[2]", "l.x"} {
		_, _, ok := Position(data, path)
		require.False(t, ok, path)
	}
	_, _, ok := Position([]byte("{"), "l")
	require.False(t, ok)
}

func TestText(t *testing.T) {
	value, ok, err := Text([]byte(`{"l": 3, "system": "ising"}`), "f", "system")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "ising", value)
	_, ok, err = Text([]byte(`{"l": 3}`), "f", "system")
	require.NoError(t, err)
	require.False(t, ok)
	for data, want := range map[string]string{
		`{"system": 3}`:                  "f:1:12: system: a number (3) where a string is needed",
		`{"system": "a", "system": "b"}`: "f:1:17: system: this key stands here for the second time; remove one",
		`[]`:                             "f:1:1: a list where an object is needed",
		`{`:                              "f:1:2: ends too early: a closing bracket or quote is missing",
	} {
		_, _, err := Text([]byte(data), "f", "system")
		require.EqualError(t, err, want)
	}
}

func TestKeys(t *testing.T) {
	require.Equal(t, []string{
		"schema", "system", "training.seed", "training.steps", "training.batch", "training.optimizer.learning_rate",
		"training.optimizer.momentum", "l", "beta", "shape", "periodic", "bandwidths", "terms", "field", "window", "labels", "tiny",
	}, Keys(new(config)))
}

func TestAssignments(t *testing.T) {
	c := preset()
	c.Terms = []term{{1, 2}}
	c.System = `a "b" c`
	all, err := Assignments(&c)
	require.NoError(t, err)
	require.Equal(t, []string{
		"schema=1", `system="a \"b\" c"`, "training.seed=1", "training.steps=100", "training.batch=64",
		"training.optimizer.learning_rate=0.001", "training.optimizer.momentum=0.5", "l=3", "beta=0.2", `shape="square"`,
		"periodic=false", "bandwidths=[1,2]", `terms=[{"c":1,"weight":2}]`, "field=null", "window=[1,2]", "tiny=0",
	}, all)
	var back config
	for _, a := range all {
		require.NoError(t, Set(&back, a), a)
	}
	require.Equal(t, c, back)
	c.Beta = math.Inf(1)
	_, err = Assignments(&c)
	require.Error(t, err)
}

func TestLeaves(t *testing.T) {
	all, err := Leaves([]byte(`{"a": 1e400, "b": {"c": [1, {"d": 2}], "e": {}}, "f": {"g": {"h": null}}, "": {"i": "<"}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1e400", "b.c": `[1,{"d":2}]`, "f.g.h": "null", "i": `"\u003c"`}, all)
	_, err = Leaves([]byte("{"))
	require.Error(t, err)
}

func TestDestinationMustBeAStruct(t *testing.T) {
	n := 3
	var none *config
	for want, call := range map[string]func(){
		"*int":         func() { _ = Decode([]byte("3"), "f", &n) },
		"conf.config":  func() { _ = Decode([]byte("{}"), "f", config{}) },
		"*conf.config": func() { _ = Set(none, "l=3") },
	} {
		require.PanicsWithValue(t, "conf: the destination is a "+want+"; it must be a pointer to a struct", call)
	}
}

// What Decode accepts, it writes and reads back unchanged.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"l": 3, "beta": 1e-5, "bandwidths": [1, 2e3], "terms": [{"c": 1}]}`, `{"l": 1e999999999}`, `{"labels": {"a b": 1}}`,
		`{"training": {"seed": 18446744073709551615}}`, `{"system": "\ud800"}`, `{"field": null}`, `[[[[`, `{"l":3}}`, `{"shape":"ring"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := preset()
		if err := Decode(data, "f", &c); err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		b, err := Encode(&c)
		require.NoError(t, err)
		var back config
		require.NoError(t, Decode(b, "f", &back), "%s", b)
		again, err := Encode(&back)
		require.NoError(t, err)
		require.Equal(t, string(b), string(again))
	})
}

func FuzzSet(f *testing.F) {
	for _, s := range []string{"l=3", "training.steps=1e5", "bandwidths=1,2", "terms=[{}]", "=", "a.b.c=[", "system=\xff", "labels.x=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, assignment string) {
		c := preset()
		if err := Set(&c, assignment); err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
		}
	})
}

// TestAdvicePrefersTheSameLetters to a key that is one letter off, wherever it
// stands, and compares keys of any length that a person types.
func TestAdvicePrefersTheSameLetters(t *testing.T) {
	var c struct {
		Near int `json:"rates"`
		Same int `json:"rate_x"`
		Long int `json:"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	}
	require.ErrorContains(t, Decode([]byte(`{"ratex": 1}`), "f", &c), "did you mean rate_x?")
	long := []byte(`{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab": 1}`)
	require.ErrorContains(t, Decode(long, "f", &c), "did you mean aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?")
}

// A figure is a choice whose keys depend on its kind.
type figure struct {
	Kind   string  `json:"kind"`
	Radius float64 `json:"radius" when:"kind=circle"`
	Width  float64 `json:"width" when:"kind=box,line"`
	Height float64 `json:"height" when:"kind=box"`
	Colour string  `json:"colour" enum:",red,blue"`
}

type drawing struct {
	Frame  figure   `json:"frame"`
	Shapes []figure `json:"shapes"`
}

// Moved implements Mover.
func (*drawing) Moved() map[string]string {
	return map[string]string{"frame.size": "frame.radius", "frame.depth": "none: a frame is flat", "frame.colour=crimson": `"red"`}
}

// Settled implements Settler.
func (*drawing) Settled() map[string]string { return map[string]string{"frame.fill": `"none"`} }

func TestMovedKeys(t *testing.T) {
	require.EqualError(t, Set(new(drawing), "frame.size=2"), "frame.size: no longer a key; write frame.radius")
	require.EqualError(t, Set(new(drawing), "frame.depth=2"), "frame.depth: no longer a key; remove it: a frame is flat")
}

// TestMovedValues: a value that is gone says what it has become.
func TestMovedValues(t *testing.T) {
	for value, want := range map[string]string{
		"crimson": `frame.colour: "crimson" is gone; write instead: "red"`, "red": "", "puce": `frame.colour: "puce" is not one of , red, blue`,
	} {
		err := Check(&drawing{Frame: figure{Kind: "circle", Colour: value}})
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
}

// TestSettledKeys: a file may say what goes without saying now, and nothing else.
func TestSettledKeys(t *testing.T) {
	for _, text := range []string{`{"frame": {"fill": "none", "kind": "box"}}`, `{"frame": {"kind": "box"}}`, `{"shapes": []}`, `{}`} {
		d := &drawing{Frame: figure{Kind: "box"}}
		require.NoError(t, Decode([]byte(text), "f", d), text)
		require.NotContains(t, string(WithoutSettled([]byte(text), d)), "fill")
	}
	require.ErrorContains(t, Decode([]byte(`{"frame": {"kind": "box", "fill": "red"}}`), "f", new(drawing)), "frame.fill: unknown key")
	require.ErrorContains(t, Set(new(drawing), "frame.fill=none"), "frame.fill: unknown key")
	require.JSONEq(t, `{"frame": {"kind": "box", "fill": "red"}}`, string(WithoutSettled([]byte(`{"frame": {"kind": "box", "fill": "red"}}`), new(drawing))))
	require.Equal(t, "{", string(WithoutSettled([]byte("{"), new(drawing))))
}

// TestChoices: only the keys of the chosen kind are read and written.
func TestChoices(t *testing.T) {
	start := func() *drawing { return &drawing{Frame: figure{Kind: "box", Width: 3, Height: 4, Radius: 5}} }
	d := start()
	text, err := Encode(d)
	require.NoError(t, err)
	require.JSONEq(t, `{"frame": {"kind": "box", "width": 3, "height": 4, "colour": ""}, "shapes": null}`, string(text))
	assignments, err := Assignments(d)
	require.NoError(t, err)
	require.Equal(t, []string{`frame.kind="box"`, "frame.width=3", "frame.height=4", `frame.colour=""`, "shapes=null"}, assignments)

	require.NoError(t, Decode([]byte(`{"frame": {"radius": 7, "kind": "circle"}, "shapes": [{"kind": "line", "width": 1}]}`), "f", d))
	require.Equal(t, 7.0, d.Frame.Radius)
	require.Equal(t, 3.0, d.Frame.Width, "kept, though it is not written")
	require.EqualError(t, Decode([]byte("{\"frame\":\n {\"radius\": 7}}"), "f", start()),
		`f:2:3: frame.radius: with frame.kind "box" there is no such key; remove it, or set frame.kind to circle`)
	require.EqualError(t, Decode([]byte(`{"shapes": [{"kind": "line"}, {"kind": "circle", "width": 1}]}`), "f", start()),
		`f:1:50: shapes[1].width: with shapes[1].kind "circle" there is no such key; remove it, or set shapes[1].kind to box or line`)

	d = start()
	require.NoError(t, Set(d, "frame.radius=2", "frame.kind=circle"), "in any order")
	require.Equal(t, 2.0, d.Frame.Radius)
	var wrong *AssignmentError
	require.ErrorAs(t, Set(start(), "frame.width=2", "frame.kind=circle"), &wrong)
	require.Equal(t, "frame.width=2", wrong.Assignment)
}

type paint struct {
	Kind  string `json:"kind" enum:"oil,water" only:"water ground.kind=paper"`
	Gloss string `json:"gloss" when:"kind=oil" enum:"matt,shiny"`
	Coats string `json:"coats" enum:"one,two,many" only:"many gloss=shiny,; two,many ground.kind=wood,paper"`
	Frame bool   `json:"frame" only:"true ground.kind=wood"`
}

type ground struct {
	Kind string `json:"kind" enum:"wood,paper,wall"`
}

type picture struct {
	Ground ground `json:"ground"`
	Paint  paint  `json:"paint"`
}

// TestOnly: values that other choices exclude are refused with what would do, in the
// configuration and by the schema's own conditions.
func TestOnly(t *testing.T) {
	for _, c := range []struct{ ground, kind, gloss, coats, want string }{
		{"wood", "oil", "matt", "one", ""},
		{"wood", "oil", "shiny", "many", ""},
		{"paper", "water", "", "many", ""}, // there is no gloss then
		{"wood", "oil", "matt", "many", "paint.coats: many does not go with paint.gloss, which is matt; set paint.coats to one or two, or paint.gloss to shiny"},
		{"wood", "water", "", "one", "paint.kind: water does not go with ground.kind, which is wood; set paint.kind to oil, or ground.kind to paper"},
		{"wall", "oil", "shiny", "two", "paint.coats: two does not go with ground.kind, which is wall; set paint.coats to one, or ground.kind to wood or paper"},
		{"wall", "oil", "shiny", "three", `paint.coats: "three" is not one of one, two, many`},
	} {
		err := Check(&picture{ground{c.ground}, paint{Kind: c.kind, Gloss: c.gloss, Coats: c.coats}})
		if c.want == "" {
			require.NoError(t, err, c)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	require.EqualError(t, Check(&picture{ground{"paper"}, paint{"oil", "matt", "one", true}}),
		"paint.frame: true does not go with ground.kind, which is paper; set paint.frame to false, or ground.kind to wood")
	require.EqualError(t, Check(&paint{Kind: "water", Coats: "one"}),
		"kind: water does not go with ground.kind, which is not there; set kind to oil, or ground.kind to paper")
	keys := Describe(new(picture))
	require.Equal(t, "many with paint.gloss=shiny; two, many with ground.kind=wood,paper", keys[3].Only)
}

// An object that is assigned is read as loosely as its values assigned one by one.
func TestObjectsOfAssignments(t *testing.T) {
	var c struct {
		Generator struct {
			Hidden []int  `json:"hidden"`
			Kind   string `json:"kind"`
		} `json:"generator"`
		Parameters map[string]float64 `json:"parameters"`
	}
	require.NoError(t, Set(&c, `generator={"hidden":16,"kind":"a"}`, `parameters={"a":1,"b":2}`))
	require.Equal(t, []int{16}, c.Generator.Hidden)
	require.Equal(t, "a", c.Generator.Kind)
	require.Equal(t, map[string]float64{"a": 1, "b": 2}, c.Parameters)
}
