package systemtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/score"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// GoldenRun checks that small runs give the bits that testdata holds in the file of the name, from
// the first look at the target to the diagnosis, and then figures, samples and chains of the
// generator. The file has a line for each part, with the first bytes of a hash of each value.
// A recipe is a system, a preset of it, and assignments, separated by spaces.
//
// It runs on the generic path, as Golden does, and skips processors on which math.Exp rounds
// differently. A diagnosis is compared by its numbers, not by its sentences. With -short, and so
// on all kernel paths and under the race detector, it is skipped: it would compute the same.
func GoldenRun(t *testing.T, systems catalogue.Systems, name string, recipes ...string) {
	t.Helper()
	compareGolden(t, name, func(w *goldenWriter) {
		for i, recipe := range recipes {
			if i > 0 {
				w.b.WriteByte('\n')
			}
			fmt.Fprintf(&w.b, "# %s", recipe)
			given := strings.Fields(recipe)
			w.run(systems, catalogue.Source{System: given[0], Preset: given[1], Set: append([]string{
				"training.steps=12", "training.batch=128", "training.log_every=1", "evaluation.samples=600"}, given[2:]...)})
		}
	})
}

// GoldenParts is GoldenRun for values that a test computes: the file has a line for each value that compute
// adds, with a hash of each of its fields.
func GoldenParts(t *testing.T, name string, compute func(workers *pool.Pool, add func(part string, value any))) {
	t.Helper()
	compareGolden(t, name, func(w *goldenWriter) { compute(w.workers, w.writeFields) })
}

// compareGolden compares the text that write writes on the generic path with the file of the name.
func compareGolden(t *testing.T, name string, write func(w *goldenWriter)) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a second")
	}
	// Without FMA, math.Exp has other code and rounds differently.
	var sum uint64
	for i := range 4096 {
		sum = 31*sum + math.Float64bits(math.Exp(-float64(i)/97))
	}
	if path, _, _ := asm.Active(); sum != 0xbefb41ba67f539c5 && path == asm.Generic {
		t.Skip("exponentials are rounded otherwise here")
	}
	defer useGeneric(t)()
	workers := pool.New(2)
	defer workers.Close()
	w := goldenWriter{t: t, workers: workers}
	write(&w)
	compare(t, name, strings.TrimPrefix(w.b.String(), "\n")+"\n")
}

// A goldenWriter writes the text of a golden file, a line for each part.
type goldenWriter struct {
	t       *testing.T
	b       strings.Builder
	workers *pool.Pool
}

// begin begins the line of a part.
func (w *goldenWriter) begin(part string) { fmt.Fprintf(&w.b, "\n%s:", part) }

// writeHash appends the name and the hash of a value to the line.
func (w *goldenWriter) writeHash(name string, value any) {
	sum := sha256.New()
	writeExported(sum, reflect.ValueOf(value))
	fmt.Fprintf(&w.b, " %s %x", name, sum.Sum(nil)[:3])
}

// writeFields writes a part with the fields of a struct. A field that is a list of structs with
// names is written by its elements.
func (w *goldenWriter) writeFields(part string, value any) {
	w.begin(part)
	v := reflect.Indirect(reflect.ValueOf(value))
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		switch {
		case isOmitted(name) || field.IsZero():
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct && field.Index(0).FieldByName("Name").IsValid():
			for j := range field.Len() {
				w.writeHash(field.Index(j).FieldByName("Name").String(), field.Index(j).Interface())
			}
		case field.CanInt():
			fmt.Fprintf(&w.b, " %s %d", name, field.Int())
		default:
			w.writeHash(name, field.Interface())
		}
	}
}

// isOmitted reports whether a field holds time, or a sentence or choice of a diagnosis.
func isOmitted(field string) bool {
	return strings.HasPrefix(field, "Seconds") || slices.Contains([]string{"BurnIn", "First", "Verdict", "Sentence", "Lacking", "Limits", "Warning"}, field)
}

// writeExported writes the exported fields of a value, at any depth, to a hash.
func writeExported(sum io.Writer, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		writeExported(sum, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !isOmitted(f.Name) {
				writeExported(sum, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			writeExported(sum, v.Index(i))
		}
	default:
		fmt.Fprintf(sum, "%v;", v)
	}
}

func (w *goldenWriter) run(systems catalogue.Systems, from catalogue.Source) {
	t := w.t
	ctx := engine.WithTally(t.Context(), new(engine.Tally))
	cfg, why, err := systems.Resolve(ctx, from)
	require.NoError(t, err)
	text, err := conf.Encode(cfg)
	require.NoError(t, err)
	w.begin("training")
	w.writeHash("recipe", string(text)+why)

	var records []engine.Record
	result, err := run.Train(ctx, cfg, w.workers, run.Options{
		Progress: func(p run.Progress) { records = append(records, p.Record) },
		Diagnose: func(ctx context.Context, trained engine.System, r *run.Result) (any, error) {
			w.writeHash("steps", records)
			w.writeHash("parameters", r.Params)
			w.writeHash("state", state.Of(trained))
			w.writeHash("warnings", r.Warnings)
			if r.Evaluation != nil {
				w.writeFields("table", r.Evaluation)
			}
			return nil, w.diagnose(ctx, trained, r)
		},
		Leave: func(ctx context.Context, trained engine.System, r *run.Result) error {
			w.begin("generator")
			return w.generator(ctx, cfg, trained, r.Params)
		},
	})
	require.NoError(t, err)
	if result.Evaluations != nil {
		w.writeFields("evaluations", result.Evaluations)
	}
}

// diagnose writes two diagnoses, the first of which stops as soon as it has its verdict.
func (w *goldenWriter) diagnose(ctx context.Context, trained engine.System, r *run.Result) error {
	if _, ok := trained.(chains.Observer); !ok {
		return nil
	}
	brief := diagnose.Options{Samples: 512, First: diagnose.Fresh, Refine: 16, Chains: 32, Draws: 16, Moves: 1 << 15, Evaluation: r.Evaluation, Need: true}
	full := diagnose.Options{Samples: 300, Refine: 32, Chains: 50, Draws: 20}
	for i, o := range []diagnose.Options{brief, full} {
		report, err := diagnose.Run(ctx, trained, r.Params, o)
		if err != nil {
			return err
		}
		w.writeFields([]string{"brief", "full"}[i], report)
		w.writeHash("figure", report.Figure())
	}
	return nil
}

// generator writes the figures, samples and chains of a trained generator.
func (w *goldenWriter) generator(ctx context.Context, cfg engine.Config, trained engine.System, params []float32) error {
	const n = 600
	if s, ok := trained.(engine.Illustrator); ok {
		figures, err := s.Figures(ctx, params, n)
		if err != nil {
			return err
		}
		for _, f := range figures {
			w.writeHash(f.Name, f)
		}
	}
	format := ""
	if s, ok := trained.(engine.Sampler); ok {
		format = s.Formats()[0].Name
		if err := w.samples(ctx, cfg, trained, params, n); err != nil {
			return err
		}
	}
	for i, o := range []chains.Options{
		{Chains: 5, Draws: 20, BurnIn: 7, Spacing: 2, States: format},
		{Chains: 4, Draws: 8, BurnIn: chains.HalfBurnIn, Spacing: 1},
		{Chains: 4, Draws: 12, BurnIn: 3, Spacing: 1, Ladder: []float64{0.1, 0.25, 0.4}},
	} {
		_, ok := trained.(chains.Observer)
		if o.Ladder != nil {
			_, ok = trained.(chains.Tempered)
		}
		if ok {
			r, err := chains.Run(ctx, trained, o, nil)
			if err != nil {
				return err
			}
			w.writeHash(fmt.Sprint("chains", i), r)
		}
	}
	return nil
}

// samples writes refined samples and exact draws in every format, and their scores.
func (w *goldenWriter) samples(ctx context.Context, cfg engine.Config, trained engine.System, params []float32, n int) error {
	stream, err := engine.StreamOf(trained, cfg, params, w.workers)
	if err != nil {
		return err
	}
	for _, f := range stream.Formats() {
		if f.Unrefined {
			continue
		}
		states := make([]byte, n*f.RowBytes)
		if err := stream.Fill(ctx, states, f, 7, 2); err != nil {
			return err
		}
		w.writeHash(f.Name, states)
		if exact, err := stream.Exact(f); err == nil {
			if err := exact.Fill(ctx, states, 50); err != nil {
				return err
			}
			w.writeHash("exact", states)
			w.writeHash("exactness", exact.Exactness())
		}
		if s, ok := trained.(engine.Scorer); ok {
			if table, err := score.NewJudge(s, s, params).Score(nil, f.Name, states, n); err == nil {
				w.writeHash("scores", table)
			}
		}
	}
	return nil
}
