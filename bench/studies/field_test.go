package main

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/density"
	"github.com/revgen/revgen/target/graph"
)

// TestFieldTargets: every target is one that the preset takes, and what is known of ln Z
// is what the literature has.
func TestFieldTargets(t *testing.T) {
	systems := []engine.Definition{ising.Definition, graph.Definition, density.RealsDefinition}
	p := Plan{Studies: []string{FieldStudy}, Seed: 1, Seeds: 1}
	for _, target := range FieldTargets {
		if target.System == "reals" {
			continue // whose recipes look at the target, which takes long
		}
		p.Only = append(p.Only, target.Name)
	}
	require.NoError(t, p.Check(systems))
	p.Only = []string{"many-well"}
	require.ErrorContains(t, p.Check(systems), "many-well-32")
	p.Studies = []string{FieldStudy, "roads"}
	require.ErrorContains(t, p.Check(systems), "by itself")
	for name, logZ := range map[string]float64{"many-well-32": 164.69568, "funnel-10": 10.28800} {
		for _, target := range FieldTargets {
			if target.Name == name {
				require.InDelta(t, logZ, target.LogZ, 1e-4)
			}
		}
	}
}

// TestFieldStudy runs one target, briefly: ln Z is within its error, chains are those of
// the target, and the results are read back.
func TestFieldStudy(t *testing.T) {
	defer func(old float64) { fieldSeconds = old }(fieldSeconds)
	fieldSeconds = 0.2
	workers := pool.New(2)
	defer workers.Close()
	p := Plan{Dir: t.TempDir(), Studies: []string{FieldStudy}, Only: []string{"ising-l8-0.4407"}, Seed: 3, Seeds: 2,
		Assignments: []string{"training.steps=150", "generator.neighbours=12", "generator.units=2"}}
	var seen []FieldRow
	var warnings []string
	results, err := p.Execute(context.Background(), []engine.Definition{ising.Definition}, workers,
		Observer{Done: func(r *Results) error { seen = append(seen, r.Field...); return nil },
			Observer: reproduce.Observer{Warning: func(text string) { warnings = append(warnings, text) }}})
	require.NoError(t, err)
	require.Equal(t, results.Field, seen)
	read, err := Read(p.Dir)
	require.NoError(t, err)
	require.Equal(t, results.Field, read.Field)
	r := seen[0]
	require.True(t, r.ESS > 0.5 && r.ESS < 1, "%v", r.ESS)
	require.Less(t, r.LogZOff, 6*r.LogZError)
	require.True(t, r.Time > 1 && r.Time < 10, "%v", r.Time)
	if len(r.Peers) != 3 {
		require.Len(t, r.Peers, 1)
		require.Contains(t, strings.Join(warnings, "\n"), "c-chains is missing")
	}
	require.Equal(t, []uint64{3, 4}, r.Seeds)
	require.Contains(t, results.Markdown(), "| Ising, 8×8, β = 0.4407 | 3–4 |")
}

// TestClusters: chains of clusters have the exact energy, however many moves lie between their
// rows.
func TestClusters(t *testing.T) {
	workshop, err := peers.NewWorkshop(context.Background())
	require.NoError(t, err)
	defer func() { require.NoError(t, workshop.Close()) }()
	inC, err := peers.Find("c-chains")
	require.NoError(t, err)
	process, err := workshop.Start(inC, peers.Setting{Threads: 1})
	if errors.As(err, new(*peers.MissingError)) {
		t.Skip(err)
	}
	require.NoError(t, err)
	const draws = 1 << 14
	exact, err := ising.Kaufman(8, 1, 0.4407)
	require.NoError(t, err)
	for _, move := range []string{"wolff", "swendsen-wang"} {
		var times []float64
		for _, spacing := range []int{1, 4} {
			require.NoError(t, process.Select(move, 8, 0.4407, 3, spacing))
			_, err := process.Run(draws)
			require.NoError(t, err)
			series := make([]float64, 2*draws)
			require.NoError(t, process.Store("series", series))
			energy := stat.Columns(series, 1, 2)[0]
			require.InDelta(t, exact.Energy, energy.Mean, 6*energy.StandardError, "%s %d", move, spacing)
			times = append(times, energy.Time)
		}
		require.Less(t, times[1], times[0]/2, "more moves between rows")
	}
}

// TestCheapest: of chains that mix it is the spacing whose independent draws cost least, and of
// others the last that there is time for.
func TestCheapest(t *testing.T) {
	defer func(old float64) { fieldSeconds = old }(fieldSeconds)
	fieldSeconds = 1000
	cost := map[int]float64{1: 3, 4: 2, 16: 5}
	peer, err := cheapest("a", func(spacing int) (float64, []stat.ChainSummary, error) {
		return cost[spacing], []stat.ChainSummary{{EffectiveSize: 4, RHat: 1}, {EffectiveSize: 2, RHat: 1.001}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, FieldPeer{"a", 1, 1.001}, peer)
	var spacings []int
	peer, err = cheapest("b", func(spacing int) (float64, []stat.ChainSummary, error) {
		spacings = append(spacings, spacing)
		return 200, []stat.ChainSummary{{EffectiveSize: 1, RHat: 2}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, FieldPeer{"b", 200, 2}, peer)
	require.Equal(t, []int{1, 4}, spacings)
	_, err = cheapest("c", func(int) (float64, []stat.ChainSummary, error) { return 0, nil, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
}

// TestFieldSeedBySeed: a row holds the seeds of all executions, of each what it gave then,
// and a training in parts is as long as its parts.
func TestFieldSeedBySeed(t *testing.T) {
	defer func(old float64) { fieldSeconds = old }(fieldSeconds)
	fieldSeconds = 0.2
	workers := pool.New(2)
	defer workers.Close()
	systems := []engine.Definition{ising.Definition}
	p := Plan{Dir: t.TempDir(), Studies: []string{FieldStudy}, Only: []string{"ising-l8-0.4407"}, Seed: 4, Seeds: 1,
		Assignments: []string{"training.steps=100", "generator.neighbours=12", "generator.units=2"}}
	row := func() FieldRow {
		results, err := Read(p.Dir)
		require.NoError(t, err)
		require.Len(t, results.Field, 1)
		return results.Field[0]
	}
	_, err := p.Execute(context.Background(), systems, workers, Observer{})
	require.NoError(t, err)
	first := row().Runs[0]

	p.Seed = 3
	over, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	_, err = p.Execute(over, systems, workers, Observer{})
	var stop *run.StopError
	require.ErrorAs(t, err, &stop)
	part := row()
	require.Equal(t, []uint64{4}, part.Seeds, "a seed that has not ended is no part of the medians")
	require.Equal(t, first.ESS, part.ESS)
	require.True(t, part.Runs[0].Unfinished)
	require.Positive(t, part.Runs[0].Seconds)

	// Long before, in seconds that only the record knows of.
	results, err := Read(p.Dir)
	require.NoError(t, err)
	results.Field[0].Runs[0].Seconds += 1000
	require.NoError(t, results.Write(p.Dir))
	_, err = p.Execute(context.Background(), systems, workers, Observer{})
	require.NoError(t, err)
	whole := row()
	require.Equal(t, []uint64{3, 4}, whole.Seeds)
	require.Equal(t, first, whole.Runs[1])
	require.Greater(t, whole.Runs[0].Seconds, part.Runs[0].Seconds+1000)
	require.Equal(t, (whole.Runs[0].ESS+first.ESS)/2, whole.ESS)
	require.Contains(t, (&Results{Field: []FieldRow{whole}}).Markdown(), "| 3–4 |")

	// Measured again, it took what it took.
	p.Seeds = 2
	_, err = p.Execute(context.Background(), systems, workers, Observer{})
	require.NoError(t, err)
	again := row()
	require.Equal(t, whole.Runs[0].Seconds, again.Runs[0].Seconds)
	require.Equal(t, whole.ESS, again.ESS)

	// Another configuration is another row's.
	p.Seeds, p.Dir = 1, t.TempDir()
	require.NoError(t, (&Results{Schema: SchemaVersion, Field: []FieldRow{whole}}).Write(p.Dir))
	p.Assignments[0] = "training.steps=50"
	_, err = p.Execute(context.Background(), systems, workers, Observer{})
	require.NoError(t, err)
	require.Equal(t, []uint64{3}, row().Seeds)
}

func TestFieldTable(t *testing.T) {
	row := FieldRow{Title: "a target", Seeds: []uint64{1}, LogZOff: math.NaN(), Seconds: 10, Time: 2, Draw: 1e-6}
	cell := func(peers ...FieldPeer) string {
		row.Peers = peers
		var b strings.Builder
		require.NoError(t, FieldTable([]FieldRow{row}).WriteMarkdown(&b))
		return b.String()
	}
	slow, fast, stuck := FieldPeer{"slow", 1e-3, 1}, FieldPeer{"fast", 1e-6, 1}, FieldPeer{"stuck", 1e-7, 2}
	require.Contains(t, cell(slow), "| 1e+04 draws |")
	require.Contains(t, cell(slow, fast), "| never |")
	require.Contains(t, cell(slow, stuck), "| 1e+04 draws |", "chains that do not mix are nothing to compare with")
	require.Contains(t, cell(stuck), "| no chain mixes |")
}
