package catalogue_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/ising"
)

var resolvable = catalogue.Systems{ising.Definition, gmm.Definition}

// A recipe is that of the target, wherever the target was given, and whatever else
// is set has the last word.
func TestResolveChoosesTheRecipeOfTheTarget(t *testing.T) {
	set, why, err := resolvable.Resolve(context.Background(), catalogue.Source{Preset: "best", Set: []string{"generator.units=4", "target.l=16"}})
	require.NoError(t, err)
	require.NotEmpty(t, why)
	text, fileWhy, err := resolvable.Resolve(context.Background(), catalogue.Source{File: "run.json",
		Text: []byte(`{"system": "ising", "preset": "best", "generator": {"units": 4}, "target": {"l": 16}}`)})
	require.NoError(t, err)
	require.Equal(t, why, fileWhy)
	require.Equal(t, set, text)
	require.Equal(t, "hierarchy", set.(*ising.Config).Generator.Kind)
	require.Equal(t, 4, set.(*ising.Config).Generator.Units)

	encoded, err := catalogue.EncodeConfig(set)
	require.NoError(t, err)
	again, _, err := resolvable.Resolve(context.Background(), catalogue.Source{Text: encoded})
	require.NoError(t, err)
	encodedAgain, err := catalogue.EncodeConfig(again)
	require.NoError(t, err)
	require.Equal(t, string(encoded), string(encodedAgain))
}

func TestResolveErrors(t *testing.T) {
	for want, from := range map[string]catalogue.Source{
		`system: unknown system "spins"; the systems are ising, gmm`:        {System: "spins"},
		`preset: "slow" is not one of quick, paper, best`:                   {Preset: "slow"},
		`training.stpes: unknown key; did you mean training.steps?`:         {Set: []string{"training.stpes=3"}},
		`target.l: 1 is not between 2 and 256`:                              {Set: []string{"target.l=1"}},
		`run.json:1:37: target.l: 1 is not between 2 and 256`:               {File: "run.json", Text: []byte(`{"system": "ising", "target": {"l": 1}}`)},
		`run.json:1:1: is empty; it must hold a JSON object`:                {File: "run.json"},
		`line 1:12: system: unknown system "x"; the systems are ising, gmm`: {Text: []byte(`{"system": "x"}`)},
		`target.beta: -1 is not a finite number ≥ 0`:                        {Set: []string{"target.beta=-1"}},
	} {
		cfg, _, err := resolvable.Resolve(context.Background(), from)
		require.Nil(t, cfg)
		var where *catalogue.ConfigError
		require.ErrorAs(t, err, &where)
		require.EqualError(t, err, want)
		var set *catalogue.AssignmentError
		if len(from.Set) > 0 {
			require.ErrorAs(t, err, &set)
			require.Equal(t, from.Set[0], set.Assignment)
		}
	}
	_, err := catalogue.Systems{}.Configure("", "")
	require.Error(t, err)
}
