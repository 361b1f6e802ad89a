package catalogue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// A tuned configuration has a recipe that looks at its target, which may be a file's.
type tuned struct {
	engine.Common
	Target struct {
		Size int    `json:"size"`
		File string `json:"file"`
	} `json:"target"`
	Generator struct {
		Kind  string `json:"kind"`
		Units []int  `json:"units"`
	} `json:"generator"`

	looks *int
	fault error // of validation
}

func (c *tuned) New(*pool.Pool) (engine.System, error) { return nil, errors.New("none") }

func (c *tuned) Validate() error {
	if c.fault == nil && c.Target.Size < 1 {
		return fmt.Errorf("target.size: %d is not positive", c.Target.Size)
	}
	return c.fault
}

func (c *tuned) Adapt(ctx context.Context) (why string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	*c.looks++
	engine.TallyOf(ctx).Add(10)
	c.Generator.Units, c.Training.Steps = []int{2 * c.Target.Size}, 100
	why = fmt.Sprintf("twice %d by %s", c.Target.Size, c.Generator.Kind)
	if c.Training.Seed > 1 {
		why += fmt.Sprintf(" of seed %d", c.Training.Seed)
	}
	return why, nil
}

func (c *tuned) Load() error {
	switch c.Target.File {
	case "gone":
		return errors.New("target.file: gone is not there")
	case "seven":
		c.Target.Size = 7
	}
	return nil
}

// toys are a system without a recipe and one with, and how often that has looked.
func toys(fault error) (s catalogue.Systems, looks *int) {
	looks = new(int)
	preset := func(name string) (*tuned, error) {
		c := &tuned{looks: looks, fault: fault}
		c.System, c.Preset, c.Target.Size, c.Generator.Kind, c.Generator.Units = "tuned", name, 3, "net", []int{1}
		return c, conf.OneOf("preset", name, []string{"one", "two"})
	}
	return catalogue.Systems{
		{Name: "plain", Summary: "as it is", Presets: []string{"only"}, Preset: func(string) (engine.Config, error) {
			return &struct{ *untuned }{new(untuned)}, nil
		}},
		{Name: "tuned", Summary: "a toy", Presets: []string{"one", "two"}, Preset: engine.PresetOf(preset), Recognise: func(data []byte, path string) ([]string, bool) {
			return []string{"target.file=" + path}, bytes.HasPrefix(data, []byte("TOY"))
		}},
	}, looks
}

// untuned has no recipe.
type untuned struct{ engine.Common }

func (*untuned) New(*pool.Pool) (engine.System, error) { return nil, errors.New("none") }
func (*untuned) Validate() error                       { return nil }

// TestSystems: what systems are called, and what is said of others.
func TestSystems(t *testing.T) {
	s, _ := toys(nil)
	require.Equal(t, []string{"plain", "tuned"}, s.Names())
	require.Equal(t, "  plain    as it is: only\n  tuned    a toy: one, two\n", s.String())
	d, err := s.Find("tuned")
	require.NoError(t, err)
	require.Equal(t, "a toy", d.Summary)
	_, err = s.Find("other")
	require.EqualError(t, err, `unknown system "other"; the systems are plain, tuned`)
	for text, want := range map[string]string{
		`{`:                                     "f:1:2: ends too early: a closing bracket or quote is missing",
		`{}`:                                    "f: system: missing; it is one of plain, tuned",
		`{"system": 3}`:                         "f:1:12: system: a number (3) where a string is needed",
		`{"system": "x"}`:                       `f:1:12: system: unknown system "x"; the systems are plain, tuned`,
		`{"system": "tuned", "preset": 3}`:      "f:1:31: preset: a number (3) where a string is needed",
		`{"system": "tuned", "preset": "slow"}`: `f:1:31: preset: "slow" is not one of one, two`,
	} {
		_, err := s.Base([]byte(text), "f")
		require.EqualError(t, err, want)
	}
	for text, want := range map[string]string{`{"system": "tuned"}`: "one", `{"system": "tuned", "preset": "two"}`: "two"} {
		cfg, err := s.Base([]byte(text), "f")
		require.NoError(t, err)
		require.Equal(t, want, cfg.Shared().Preset)
	}
	cfg, err := s.Configure("tuned", "")
	require.NoError(t, err)
	require.Equal(t, "one", cfg.Shared().Preset)
	_, err = s.Configure("", "")
	require.NoError(t, err, "the first")

	from, ok := s.Recognise([]byte("TOY 7"), "seven")
	require.True(t, ok)
	require.Equal(t, catalogue.Source{System: "tuned", Target: []string{"target.file=seven"}}, from)
	from, ok = s.Recognise([]byte("{}"), "seven")
	require.False(t, ok)
	require.Equal(t, catalogue.Source{}, from)
}

// TestLooks: a recipe sees the target, the kind of generator and the seed that are asked for, looks once at
// each target, and what it made is kept with what it took.
func TestLooks(t *testing.T) {
	s, looks := toys(nil)
	resolve := func(from catalogue.Source) (*tuned, string, int64) {
		tally := new(engine.Tally)
		cfg, why, err := s.Resolve(engine.WithTally(t.Context(), tally), from)
		require.NoError(t, err)
		return cfg.(*tuned), why, tally.Evaluations().Look
	}
	for _, c := range []struct {
		from  catalogue.Source
		why   string
		units []int
	}{
		{catalogue.Source{System: "tuned"}, "twice 3 by net", []int{6}},
		{catalogue.Source{System: "tuned", Set: []string{"target.size=4", "generator.kind=flow"}}, "twice 4 by flow", []int{8}},
		{catalogue.Source{System: "tuned", Set: []string{" target.size=4", "generator.units=9"}}, "twice 4 by net", []int{9}},
		{catalogue.Source{System: "tuned", Target: []string{"target.file=seven"}}, "twice 7 by net", []int{14}},
		{catalogue.Source{Text: []byte(`{"system": "tuned", "target": {"size": 5}, "generator": {"kind": "mix"}}`)}, "twice 5 by mix", []int{10}},
		{catalogue.Source{Text: []byte(`{"system": "tuned", "generator": {"units": [8]}}`), Set: []string{"target.size=2"}}, "twice 2 by net", []int{8}},
		{catalogue.Source{Text: []byte(`{"system": "tuned", "training": {"seed": 5}}`)}, "twice 3 by net of seed 5", []int{6}},
		{catalogue.Source{System: "tuned", Set: []string{"training.seed =6"}}, "twice 3 by net of seed 6", []int{6}},
	} {
		cfg, why, spent := resolve(c.from)
		require.Equal(t, c.why, why)
		require.Equal(t, c.units, cfg.Generator.Units)
		require.Equal(t, 100, cfg.Training.Steps)
		require.EqualValues(t, 10, spent)
	}
	require.Equal(t, 8, *looks)

	from := catalogue.Source{System: "tuned", Look: new(catalogue.Look)}
	first, why, _ := resolve(from)
	require.Equal(t, 9, *looks)
	kept := *from.Look
	require.Equal(t, "twice 3 by net", kept.Why)
	require.EqualValues(t, 10, kept.Evaluations)
	var of, recipe struct{ Generator struct{ Units []int } }
	require.NoError(t, json.Unmarshal(kept.Of, &of))
	require.NoError(t, json.Unmarshal(kept.Recipe, &recipe))
	require.Equal(t, [][]int{{1}, {6}}, [][]int{of.Generator.Units, recipe.Generator.Units})
	again, whyAgain, spent := resolve(from)
	require.Equal(t, 9, *looks, "it does not look again")
	require.Equal(t, []any{first, why, int64(10)}, []any{again, whyAgain, spent})
	require.Equal(t, kept, *from.Look)

	ended, end := context.WithCancel(t.Context())
	end()
	from.Set = []string{"target.size=4"}
	_, _, err := s.Resolve(ended, from)
	require.Equal(t, context.Canceled, err)
	require.Equal(t, kept, *from.Look)
	other, why, _ := resolve(from)
	require.Equal(t, []any{10, []int{8}, "twice 4 by net", "twice 4 by net"}, []any{*looks, other.Generator.Units, why, from.Look.Why})
	from.Look.Recipe = json.RawMessage("3")
	_, _, err = s.Resolve(t.Context(), from)
	require.ErrorContains(t, err, "a number (3) where an object")
}

// TestWholeSections: a recipe sees what is assigned as a whole section, too.
func TestWholeSections(t *testing.T) {
	systems, _ := toys(nil)
	for assignment, want := range map[string]string{
		`target={"size": 5}`: "twice 5 by net", `generator={"kind": "flow", "units": [9]}`: "twice 3 by flow", `training={"seed": 7}`: "twice 3 by net of seed 7",
		`targets={}`: "", `generator.units=[8]`: "twice 3 by net",
	} {
		cfg, why, err := systems.Resolve(t.Context(), catalogue.Source{System: "tuned", Set: []string{assignment}})
		if want == "" {
			require.Error(t, err, assignment)
			continue
		}
		require.NoError(t, err, assignment)
		require.Equal(t, want, why)
		if cfg.(*tuned).Generator.Kind == "flow" {
			require.Equal(t, []int{9}, cfg.(*tuned).Generator.Units)
		}
	}
}

// TestGiven: without a look there is what is given, as far as that goes.
func TestGiven(t *testing.T) {
	s, looks := toys(nil)
	cfg, why, looking, err := s.Given(catalogue.Source{System: "tuned", Set: []string{"target.size=4", "generator.units=9"}})
	require.NoError(t, err)
	require.True(t, looking)
	require.Empty(t, why)
	c := cfg.(*tuned)
	require.Equal(t, []any{4, []int{9}, 0, 0}, []any{c.Target.Size, c.Generator.Units, c.Training.Steps, *looks})
	_, _, looking, err = s.Given(catalogue.Source{System: "plain"})
	require.NoError(t, err)
	require.False(t, looking)
	for want, from := range map[string]catalogue.Source{
		"target.sise: unknown key; did you mean target.size?":                 {System: "tuned", Set: []string{"target.sise=3"}},
		"target.file: gone is not there":                                      {System: "tuned", Set: []string{"target.file=gone"}},
		`system: unknown system "x"; the systems are plain, tuned`:            {System: "x"},
		"generator.untis: unknown key; did you mean generator.units?":         {System: "tuned", Set: []string{"generator.untis=3"}},
		"f:1:35: generator.untis: unknown key; did you mean generator.units?": {File: "f", Text: []byte(`{"system": "tuned", "generator": {"untis": 3}}`)},
		`f:1:40: target.size: a string ("x") where a whole number is needed`:  {File: "f", Text: []byte(`{"system": "tuned", "target": {"size": "x"}}`)},
		"f:1:43: generator.kind: a number (3) where a string is needed":       {File: "f", Text: []byte(`{"system": "tuned", "generator": {"kind": 3}}`)},
	} {
		_, _, _, err := s.Given(from)
		require.EqualError(t, err, want)
		require.Zero(t, *looks)
		_, _, err = s.Resolve(t.Context(), from)
		require.EqualError(t, err, want)
		require.Equal(t, strings.Contains(want, "untis"), *looks > 0, "no look at a target that is wrong: %s", want)
		*looks = 0
	}
}

// TestPlacesOfFaults: what validation refuses is placed where it was set: in an assignment, of it or
// of what it is part of, or in the text.
func TestPlacesOfFaults(t *testing.T) {
	for _, c := range []struct {
		fault      string
		from       catalogue.Source
		want       string
		path       string
		assignment string
	}{
		{"it is wrong", catalogue.Source{System: "tuned"}, "it is wrong", "", ""},
		{"generator.units[0]: 5 is odd", catalogue.Source{System: "tuned"}, "generator.units[0]: 5 is odd", "generator.units[0]", ""},
		{"generator.units[0]: 5 is odd", catalogue.Source{System: "tuned", Set: []string{"target.size=2", " generator.units =[5]"}}, "generator.units[0]: 5 is odd", "generator.units[0]", " generator.units =[5]"},
		{"target.size: 2: no", catalogue.Source{System: "tuned", Set: []string{"target.size=1", "target.size=2"}}, "target.size: 2: no", "target.size", "target.size=2"},
		{"target.size: 2: no", catalogue.Source{File: "f", Text: []byte("{\"system\": \"tuned\",\n\"target\": {\"size\": 2}}")}, "f:2:20: target.size: 2: no", "target.size", ""},
		{"target.size: 3: no", catalogue.Source{File: "f", Text: []byte(`{"system": "tuned"}`)}, "target.size: 3: no", "target.size", ""},
	} {
		s, _ := toys(errors.New(c.fault))
		_, _, err := s.Resolve(t.Context(), c.from)
		require.EqualError(t, err, c.want)
		var at *catalogue.ConfigError
		require.ErrorAs(t, err, &at)
		require.Equal(t, c.path, at.Path)
		var set *catalogue.AssignmentError
		require.Equal(t, c.assignment != "", errors.As(err, &set), c.want)
		if set != nil {
			require.Equal(t, c.assignment, set.Assignment)
		}
	}
}
