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

// Whole checks that small runs give the bits that testdata holds in the file of the name: from
// the first look at the target to the diagnosis, and what users do with a generator afterwards.
// There is a line for each part, with the first bytes of the hashes of what it consists of. A
// recipe is a system, a preset of it, and assignments, between spaces.
//
// It runs on the generic path, as Golden does, and is skipped where exponentials are rounded
// otherwise. Of the diagnosis it holds the figures, and no sentences. -short leaves it out, on
// all kernel paths and under the race detector, since it would only repeat what it computes.
func Whole(t *testing.T, systems catalogue.Systems, name string, recipes ...string) {
	t.Helper()
	hold(t, name, func(w *whole) {
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

// Parts is Whole of what a test computes: a line for each value that it adds, with the hashes
// of the value's fields.
func Parts(t *testing.T, name string, compute func(workers *pool.Pool, add func(part string, value any))) {
	t.Helper()
	hold(t, name, func(w *whole) { compute(w.workers, w.each) })
}

// hold compares what is written on the generic path with the file of the name.
func hold(t *testing.T, name string, write func(w *whole)) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a second")
	}
	sameExponentials(t)
	defer generic(t)()
	workers := pool.New(2)
	defer workers.Close()
	w := whole{t: t, workers: workers}
	write(&w)
	compare(t, name, strings.TrimPrefix(w.b.String(), "\n")+"\n")
}

// sameExponentials skips a test on processors without FMA, for which math.Exp has other code.
func sameExponentials(t *testing.T) {
	t.Helper()
	var sum uint64
	for i := range 4096 {
		sum = 31*sum + math.Float64bits(math.Exp(-float64(i)/97))
	}
	if path, _, _ := asm.Active(); sum != 0xbefb41ba67f539c5 && path == asm.Generic {
		t.Skip("exponentials are rounded otherwise here")
	}
}

type whole struct {
	t       *testing.T
	b       strings.Builder
	workers *pool.Pool
}

// begin begins the line of a part.
func (w *whole) begin(part string) { fmt.Fprintf(&w.b, "\n%s:", part) }

// add writes the hash of a value to the line.
func (w *whole) add(name string, value any) {
	sum := sha256.New()
	hashed(sum, reflect.ValueOf(value))
	fmt.Fprintf(&w.b, " %s %x", name, sum.Sum(nil)[:3])
}

// each is a part with the fields of a struct, and the elements of fields that have names.
func (w *whole) each(part string, value any) {
	w.begin(part)
	all := reflect.Indirect(reflect.ValueOf(value))
	for i := range all.NumField() {
		name, field := all.Type().Field(i).Name, all.Field(i)
		switch {
		case leftOut(name) || field.IsZero():
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct && field.Index(0).FieldByName("Name").IsValid():
			for j := range field.Len() {
				w.add(field.Index(j).FieldByName("Name").String(), field.Index(j).Interface())
			}
		case field.CanInt():
			fmt.Fprintf(&w.b, " %s %d", name, field.Int())
		default:
			w.add(name, field.Interface())
		}
	}
}

// leftOut reports whether a field holds time, or words that a diagnosis chooses.
func leftOut(field string) bool {
	return strings.HasPrefix(field, "Seconds") || slices.Contains([]string{"BurnIn", "First", "Verdict", "Sentence", "Lacking", "Limits", "Warning"}, field)
}

// hashed writes all that a value holds.
func hashed(sum io.Writer, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		hashed(sum, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !leftOut(f.Name) {
				hashed(sum, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			hashed(sum, v.Index(i))
		}
	default:
		fmt.Fprintf(sum, "%v;", v)
	}
}

func (w *whole) run(systems catalogue.Systems, from catalogue.Source) {
	t := w.t
	ctx := engine.WithTally(t.Context(), new(engine.Tally))
	cfg, why, err := systems.Resolve(ctx, from)
	require.NoError(t, err)
	text, err := conf.Encode(cfg)
	require.NoError(t, err)
	w.begin("training")
	w.add("recipe", string(text)+why)

	var records []engine.Record
	result, err := run.Train(ctx, cfg, w.workers, run.Options{
		Progress: func(p run.Progress) { records = append(records, p.Record) },
		Diagnose: func(ctx context.Context, trained engine.System, r *run.Result) (any, error) {
			w.add("steps", records)
			w.add("parameters", r.Params)
			w.add("state", state.Of(trained))
			w.add("warnings", r.Warnings)
			if r.Evaluation != nil {
				w.each("table", r.Evaluation)
			}
			return nil, w.diagnose(ctx, trained, r)
		},
		Leave: func(ctx context.Context, trained engine.System, r *run.Result) error {
			w.begin("generator")
			return w.use(ctx, cfg, trained, r.Params)
		},
	})
	require.NoError(t, err)
	if result.Evaluations != nil {
		w.each("evaluations", result.Evaluations)
	}
}

// diagnose writes what two diagnoses find, of which the first ends as soon as it knows.
func (w *whole) diagnose(ctx context.Context, trained engine.System, r *run.Result) error {
	if _, ok := trained.(chains.Observer); !ok {
		return nil
	}
	brief := diagnose.Options{Samples: 512, First: diagnose.Fresh, Refine: 16, Chains: 32, Draws: 16, Moves: 1 << 15, Evaluation: r.Evaluation, Need: true}
	full := diagnose.Options{Samples: 300, Refine: 32, Chains: 50, Draws: 20}
	for i, o := range []diagnose.Options{brief, full} {
		said, err := diagnose.Run(ctx, trained, r.Params, o)
		if err != nil {
			return err
		}
		w.each([]string{"brief", "full"}[i], said)
		w.add("figure", said.Figure())
	}
	return nil
}

// use writes what can be had of a trained generator: figures, samples and chains.
func (w *whole) use(ctx context.Context, cfg engine.Config, trained engine.System, params []float32) error {
	const n = 600
	if s, ok := trained.(engine.Illustrator); ok {
		figures, err := s.Figures(ctx, params, n)
		if err != nil {
			return err
		}
		for _, f := range figures {
			w.add(f.Name, f)
		}
	}
	format := ""
	if s, ok := trained.(engine.Sampler); ok {
		format = s.Formats()[0].Name
		if err := w.samples(ctx, cfg, trained, params, n); err != nil {
			return err
		}
	}
	for name, o := range []chains.Options{
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
			w.add(fmt.Sprint("chains", name), r)
		}
	}
	return nil
}

// samples writes refined and exact ones in every format, and their scores.
func (w *whole) samples(ctx context.Context, cfg engine.Config, trained engine.System, params []float32, n int) error {
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
		w.add(f.Name, states)
		if exact, err := stream.Exact(f); err == nil {
			if err := exact.Fill(ctx, states, 50); err != nil {
				return err
			}
			w.add("exact", states)
			w.add("exactness", exact.Exactness())
		}
		if s, ok := trained.(engine.Scorer); ok {
			if table, err := score.NewJudge(s, s, params).Score(nil, f.Name, states, n); err == nil {
				w.add("scores", table)
			}
		}
	}
	return nil
}
