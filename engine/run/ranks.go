package run

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// If several ranks train, each goes through the same steps, does a part of the work
// and has all of the result. Only rank 0 reads and writes files, measures and reports.

func (r *run) agree(err error) error { return engine.Agree(r.workers, err) }

// stepContext returns the context of a step. Ranks wait for each other in a step, and none can
// leave it when ctx ends.
func (r *run) stepContext(ctx context.Context) context.Context {
	if r.workers.Size() == 1 {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// share gives all ranks what rank 0 has restored.
func (r *run) share() {
	if r.workers.Size() == 1 {
		return
	}
	restored := struct {
		Step, SavedStep              int
		SecondsBefore, AcceptanceSum float64
		Refuge                       refuge
		HasRefuge                    bool // Refuge has sections
	}{r.trainer.Steps(), r.savedStep, r.secondsBefore, r.acceptanceSum, r.refuge, r.refuge.sections != nil}
	text := r.workers.Text(crash.Must(json.Marshal(restored))) // of finite numbers
	crash.Must(&restored, json.Unmarshal(text, &restored))
	r.trainer.Resume(restored.Step)
	r.savedStep, r.secondsBefore, r.acceptanceSum = restored.SavedStep, restored.SecondsBefore, restored.AcceptanceSum
	if r.savedStep < 0 {
		return
	}
	sections := r.trainer.State()
	restored.Refuge.sections = r.refuge.sections
	if r.refuge = restored.Refuge; restored.HasRefuge {
		if r.refuge.sections == nil {
			r.refuge.sections = refugeSections(sections)
		}
		sections = slices.Concat(sections, r.refuge.sections)
	}
	r.ease()
	for _, s := range sections {
		r.workers.Tell(asm.Bytes(s.Float32))
		r.workers.Tell(asm.Bytes(s.Float64))
	}
}

// probe returns an error if the targets of the ranks answer the same questions differently.
func (r *run) probe(ctx context.Context) error {
	p, ok := r.trainer.System().(engine.Prober)
	n := r.workers.Size()
	if !ok || n == 1 {
		return nil
	}
	defer engine.Interruptible(ctx, r.trainer.System())()
	answers, err := p.Probe()
	if err = r.agree(err); err != nil || answers == nil {
		return err
	}
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, answers); err != nil {
		return err
	}
	digests := make([][sha256.Size]byte, n)
	h.Sum(digests[r.workers.Rank()][:0])
	r.workers.Gather(n, pool.SpanOf(digests, 1))
	var differing []string
	for rank, d := range digests {
		if d != digests[0] {
			differing = append(differing, strconv.Itoa(rank))
		}
	}
	if len(differing) == 0 {
		return nil
	}
	noun := "rank"
	if len(differing) > 1 {
		noun = "ranks"
	}
	return fmt.Errorf("%s: on %s %s it answers otherwise than on rank 0 to the same questions; all ranks need the same program with the same data", p.Key(), noun, strings.Join(differing, ", "))
}
