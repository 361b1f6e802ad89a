package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// sampleOptions are the flags of sample.
type sampleOptions struct {
	model        string
	n            count
	output       string
	format       string
	seed         count
	seedGiven    bool
	shard        shard
	shardGiven   bool
	refine       stepCount
	exact        bool
	weights      bool
	first        count
	firstGiven   bool
	trainingSeed uint64
	threads      int
}

func (p *program) sampleCommand() *cobra.Command {
	s := sampleOptions{shard: shard{count: 1}}
	cmd := &cobra.Command{
		Use:   "sample DIR|MODEL -n N -o FILE.npy",
		Short: "Draw independent samples from a trained generator",
		Long: `Draw N independent samples from the generator of a run directory or a model
file and write them as a NumPy array with one row per sample, in constant
memory. "-o -" writes to stdout.

Sample i depends on the model, the seed and i alone.

  --shard i/n   writes the i-th of n nearly equal parts; concatenated, the parts are the
                whole
  --seed        selects another stream of samples; the default is that of the training run
  --first       is the number of the first sample; by default sample starts after those
                that train has used for its table and samples.npy, and says so
  --refine auto takes as many Metropolis steps as diagnose found necessary

Where the generator's density q is known:

  --weights     writes ln w = ln π − ln q beside each sample; the mean of f over the target
                is Σ w f / Σ w, and Z is the mean of w
  --exact       makes asymptotically exact draws by independence Metropolis. Each chain
                discards 4096 proposals, then gives 61440 draws. A rejected proposal
                repeats the last draw. stderr and FILE.npy.json give the acceptance and
                the autocorrelation time

In a build with MPI, the ranks of mpirun or srun write one file together, with the same
bytes as one process. --shard 0/1 makes each rank independent.

FILE.npy.json records the model's hash, the seed, the numbers and the refinement of the
samples, the version and the kernel path.`,
		Example: `  revgen sample runs/ising-quick-seed1 -n 1e6 -o samples.npy
  srun revgen sample model.rvg -n 1e9 --format bits --shard auto -o part-%t.npy
  revgen sample runs/critical -n 1e6 --exact -o exact.npy
  revgen sample model.rvg -n 1000 --refine 10 -o - | python3 -c 'import sys, io, numpy; print(numpy.load(io.BytesIO(sys.stdin.buffer.read())).mean())'`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			changed := cmd.Flags().Changed
			s.model, s.seedGiven, s.firstGiven, s.shardGiven = args[0], changed("seed"), changed("first"), changed("shard")
			return p.sample(&s)
		},
	}
	flags := cmd.Flags()
	flags.VarP(&s.n, "number", "n", "number of samples, over all shards: 200000 or 2e5")
	flags.StringVarP(&s.output, "output", "o", "", "`file` to write, - for stdout")
	flags.StringVarP(&s.format, "format", "f", "", "layout of a sample, ? lists them (default the system's)")
	flags.Var(&s.seed, "seed", "seed of the samples (default that of the training run)")
	flags.Var(&s.shard, "shard", "write only part i of n, counted from 0; auto takes i/n from a Slurm step or array, or from mpirun")
	flags.Var(&s.first, "first", "number of the first sample in the seed's stream (default after those that train has used)")
	flags.Var(&s.refine, "refine", "Metropolis steps after generation; auto takes as many as diagnose finds necessary")
	flags.BoolVar(&s.exact, "exact", false, "make asymptotically exact draws, by independence Metropolis")
	flags.BoolVar(&s.weights, "weights", false, "write ln w beside each sample; the same as --format "+engine.Weighted)
	addThreads(cmd, &s.threads)
	return cmd
}

func (p *program) sample(s *sampleOptions) error {
	if s.weights {
		if s.format != "" {
			return usagef("--weights: it is --format %s; leave out one of --weights and --format", engine.Weighted)
		}
		s.format = engine.Weighted
	}
	if err := p.joinSampling(s); err != nil {
		return err
	}
	if s.exact && (s.refine.auto || s.refine.n > 0) {
		return usagef("--refine: exact draws need no refinement; leave out one of --exact and --refine")
	}
	model, cfg, err := run.Read(p.systems, s.model)
	if err != nil {
		return err
	}
	s.trainingSeed = cfg.Shared().Training.Seed
	if s.seedGiven {
		cfg.Shared().Training.Seed = uint64(s.seed)
	}
	if p.world != nil {
		err := p.checkSameStart("sample", map[string]any{"model": model.Hash(), "seed": cfg.Shared().Training.Seed, "number": s.n, "-o": s.output,
			"format": s.format, "first": s.first, "first is given": s.firstGiven, "refine": s.refine.String(), "exact": s.exact})
		if err != nil {
			return err
		}
	}
	return p.runOnThreads(s.threads, func(ctx context.Context, workers *pool.Pool) error { return p.sampleModel(ctx, s, model, cfg, workers) })
}

func (p *program) sampleModel(ctx context.Context, s *sampleOptions, model *run.Model, cfg engine.Config, workers *pool.Pool) error {
	stream, err := engine.NewStream(cfg, model.Params, workers)
	if err != nil {
		return fmt.Errorf("%s: %w", s.model, err)
	}
	defer stream.Close()
	if s.format == "?" {
		return p.listFormats(stream.Formats())
	}
	format, err := stream.Format(s.format)
	if err != nil && s.weights {
		return usagef("--weights: the density of this generator is not known; the presets quick and best train generators with a density, of lattices from 4×4 on")
	}
	if err != nil {
		return usagef("--%w; --format ? describes them", err)
	}
	switch {
	case s.n == 0:
		return usagef("-n: say how many samples")
	case s.output == "":
		return usagef("-o: say where to write the samples; -o - is stdout")
	}
	if s.output, err = s.shard.path(s.output); err != nil {
		return err
	}
	if s.output != "-" {
		if err := checkSuffix("-o", s.output); err != nil {
			return err
		}
		if err := checkRecord(s.output); err != nil {
			return err
		}
		if err := p.checkApart([]string{s.model}, s.output, recordPath(s.output)); err != nil {
			return err
		}
	}
	var exact *engine.Exact
	if s.exact {
		if exact, err = stream.Exact(format); err != nil {
			return usagef("--%w", err)
		}
	}
	first, n := s.shard.slice(uint64(s.n))
	from, err := fromRankZero(p, func() (uint64, error) { return s.firstSample(cfg, p.say) })
	if err != nil {
		return err
	}
	if from > math.MaxUint64-first {
		return usagef("--first: sample %d + %d is beyond any stream", from, first)
	}
	first += from
	if s.refine.auto {
		if s.refine.n, err = fromRankZero(p, func() (int, error) { return p.autoRefine(ctx, s, model, cfg, workers) }); err != nil {
			return err
		}
	}
	if format.Unrefined && s.refine.n > 0 {
		return usagef("--refine: the density of refined samples is not known, and neither are their weights; leave out one of --refine and --weights")
	}
	p.warnUntrusted(s, model)
	start := time.Now()
	r := sampleFile{path: s.output, format: format, first: first, n: n, refine: s.refine.n, exact: exact}
	if exact != nil {
		err = exact.Reach(first, n)
	} else {
		err = stream.Reach(first, n, s.refine.n)
	}
	if err != nil {
		return usagef("--%w", err)
	}
	if p.world != nil {
		err = p.writeSharedSamples(ctx, stream, r)
	} else {
		err = p.writeSamples(ctx, stream, r)
	}
	if err == nil && exact != nil && n > 0 {
		p.sayExact(exact.Exactness())
	}
	if err != nil || s.output == "-" || p.isOtherRank() {
		return err
	}
	if err := writeRecord(r, cfg, model); err != nil || !p.json {
		return err
	}
	return json.NewEncoder(p.stdout).Encode(struct {
		File    string `json:"file"`
		Format  string `json:"format"`
		Seed    uint64 `json:"seed"`
		First   uint64 `json:"first"`
		Samples uint64 `json:"samples"`
		Refine  int    `json:"refine"`

		Exact   *engine.Exactness `json:"exact,omitempty"`
		Seconds float64           `json:"seconds"`
	}{s.output, format.Name, cfg.Shared().Training.Seed, first, n, s.refine.n, r.exactness(), time.Since(start).Seconds()})
}

// warnUntrusted warns of samples that the run's diagnosis has not found trustworthy.
func (p *program) warnUntrusted(s *sampleOptions, model *run.Model) {
	if s.exact || p.isOtherRank() {
		return
	}
	r, err := lastDiagnosis(s.model, model)
	switch {
	case err != nil:
		p.warn(oneLine(err))
	case r == nil || r.Verdict == diagnose.Trustworthy || r.Verdict == diagnose.Refine && s.refine.n >= r.Refine:
	default:
		p.warn("the diagnosis of these samples is: " + r.Sentence)
	}
}

// sayExact says what exact draws are worth.
func (p *program) sayExact(x engine.Exactness) {
	bound := ""
	if x.AtLeast {
		bound = "at least "
	}
	p.say("exact draws: %.2f %% of the proposals accepted, τ_int %s%.3f draws, longest stay in one state %d draws; weights: effective size %.4f, Pareto k̂ %s",
		100*x.Acceptance, bound, x.Time, x.Longest, x.Weights.EffectiveSize, stat.ShapeText(x.Weights.ParetoK))
	if x.Warning != "" {
		p.warn(x.Warning)
	}
}

// firstSample returns the number of the first sample, over all shards. By default it lies after the
// samples that the training run has used. It says so, and warns if --first repeats used ones.
func (s *sampleOptions) firstSample(cfg engine.Config, say func(string, ...any)) (uint64, error) {
	seed := cfg.Shared().Training.Seed
	if seed != s.trainingSeed {
		return uint64(s.first), nil
	}
	used, err := usedSamples(s.model, cfg)
	if err != nil && !s.firstGiven {
		return 0, err
	}
	next := used
	if s.exact {
		// The chain that makes draw number next may begin with used samples.
		next = (next + engine.ExactDraws - 1) / engine.ExactDraws * engine.ExactDraws
	}
	switch {
	case !s.firstGiven:
		say("the training run has used the first %d samples of seed %d; these start at number %d (--first 0 starts at the first)", used, seed, next)
		return next, nil
	case uint64(s.first) < next:
		say("the training run has used the first %d samples of seed %d; these start at number %d and may repeat some of them", used, seed, s.first)
	}
	return uint64(s.first), nil
}

// autoRefine returns the number of refining steps that a diagnosis finds necessary: the one that
// diagnose has left in the run directory, or else a new one.
func (p *program) autoRefine(ctx context.Context, s *sampleOptions, model *run.Model, cfg engine.Config, workers *pool.Pool) (int, error) {
	r, err := readDiagnosis(s.model, model)
	if err == nil && r == nil {
		if s.shard.count > 1 {
			return 0, usagef("--refine auto: all shards need the same diagnosis; run revgen diagnose %s first", s.model)
		}
		p.say("--refine auto needs a diagnosis, which takes a while; revgen diagnose %s keeps one for the next time", s.model)
		r, err = diagnosis(ctx, s.model, model, cfg, diagnose.Full(), workers)
	}
	if err != nil {
		return 0, err
	}
	if r.Refine < 0 {
		p.report(fmt.Errorf("--refine auto: %s", r.Sentence), exitCheck)
		return 0, errCheckFailed
	}
	p.say("--refine %d: %s", r.Refine, r.Sentence)
	return r.Refine, nil
}

func (p *program) listFormats(all []engine.Format) error {
	for _, f := range all {
		if _, err := fmt.Fprintf(p.stdout, "%-8s dtype %s, shape %v: %s\n", f.Name, f.Descr, f.Shape, f.Doc); err != nil {
			return err
		}
	}
	return nil
}

// A sampleFile is one file of samples.
type sampleFile struct {
	path   string
	format engine.Format
	first  uint64 // number of the first sample in the seed's stream
	n      uint64
	refine int           // Metropolis steps after generation
	exact  *engine.Exact // nil for samples of the generator
}

// exactness returns what exact draws are worth, nil for samples of the generator.
func (r *sampleFile) exactness() *engine.Exactness {
	if r.exact == nil || r.n == 0 {
		return nil
	}
	x := r.exact.Exactness()
	return &x
}

// writeSamples writes a file, shows its progress and prints the rate.
func (p *program) writeSamples(ctx context.Context, stream *engine.Stream, r sampleFile) error {
	var start time.Time
	err := p.writeArray(ctx, r.path, r.header(), func(w io.Writer) error {
		start = time.Now()
		return p.drawSamples(ctx, stream, w, r)
	})
	if err == nil {
		p.sayRate(r, start)
	}
	return err
}

func (p *program) drawSamples(ctx context.Context, stream *engine.Stream, w io.Writer, r sampleFile) error {
	start := time.Now()
	m := p.newMeter(int64(r.n), "samples")
	defer m.end()
	progress := func(done uint64) {
		if m.bar != nil || done < r.n {
			m.update(int64(done), float64(done)/time.Since(start).Seconds(), "")
		}
	}
	if r.exact != nil {
		return r.exact.Write(ctx, w, r.first, r.n, progress)
	}
	return stream.Write(ctx, w, r.format, r.first, r.n, r.refine, progress)
}

func (p *program) sayRate(r sampleFile, start time.Time) {
	seconds := time.Since(start).Seconds()
	p.say("%d samples in %.2f s: %s samples/s, %sB/s", r.n, seconds, quantity(float64(r.n)/seconds),
		quantity(float64(r.n)*float64(r.format.RowBytes)/seconds))
}

func (r *sampleFile) header() npy.Header {
	return npy.Header{Descr: r.format.Descr, Shape: append([]int{int(r.n)}, r.format.Shape...)}
}
