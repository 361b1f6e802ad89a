package run

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/disk"
)

// A search may carry more than can be written in the moment that a stop has. The
// checkpoints of such a run hold a trail instead: θ of each step since a keyframe,
// a file of its own, from which Replay computes the rest without a loss. Before the
// first keyframe it begins with the θ that training begins with.
const trailLen = 32 << 20 // bytes of θ between keyframes, about

// trailFrom is how many bytes are too many for a checkpoint. Tests replace it.
var trailFrom = 64 << 20

// keyframeSlots are as many as there may be at once: those of both checkpoints, and
// one that is being written.
const keyframeSlots = 3

func keyframeName(slot int) string { return fmt.Sprintf("keyframe.%d.rvg", slot) }

// A keyframe is what a trail begins with.
type keyframe struct {
	Step   int    `json:"step"`
	File   string `json:"file,omitempty"` // none for the beginning of training
	SHA256 string `json:"sha256,omitempty"`
}

// A trail is θ of each step since a keyframe. A nil trail keeps nothing.
type trail struct {
	points []float32 // θ of the keyframe's step and of each since
	rates  []float64 // of each step since
	limit  int       // steps between keyframes
	base   keyframe
	search search.Replayer
	params []float32 // θ, which the search moves
}

// newTrail returns a trail that begins with the trainer's present θ, with room for its steps.
func newTrail(t *engine.Trainer, s search.Replayer) *trail {
	params := t.State()[0].Float32
	limit := max(2, min(bulkBytes(s)/8, trailLen)/max(1, 4*len(params)))
	k := &trail{rates: make([]float64, 0, limit), limit: limit, base: keyframe{Step: t.Steps()}, search: s, params: params}
	k.points = append(make([]float32, 0, (limit+1)*len(params)), params...)
	return k
}

// add enters the step that was taken last.
func (k *trail) add(rate float64) {
	if k != nil {
		k.points, k.rates = append(k.points, k.params...), append(k.rates, rate)
	}
}

// set sets the search's θ to that after so many steps of the trail.
func (k *trail) set(steps int) { copy(k.params, k.points[steps*len(k.params):]) }

// state lists what a checkpoint holds in place of the search's bulk: θ, the rest, and the
// trail, whose sections have the names that files gave them first.
func (k *trail) state() []engine.Section {
	all := append([]engine.Section{{Name: "params", Float32: k.params}}, k.search.Rest()...)
	return append(all, engine.Section{Name: "journal.points", Float32: k.points}, engine.Section{Name: "journal.rates", Float64: k.rates})
}

func bulkBytes(s search.Replayer) (n int) {
	for _, b := range s.Bulk() {
		n += 4*len(b.Float32) + 8*len(b.Float64)
	}
	return n
}

// write leaves a keyframe of the present step, with which the trail begins from now on.
func (k *trail) write(ctx context.Context, path string, h header) error {
	// Rather than fill the disk to find that out.
	if err := disk.Room(path, int64(bulkBytes(k.search))); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	next := keyframe{Step: h.Step, File: filepath.Base(path)}
	if err := disk.Gently(ctx, path, func(w io.Writer) error {
		sum, err := encode(w, h, k.search.Bulk())
		next.SHA256 = hex.EncodeToString(sum)
		return err
	}); err != nil {
		return err
	}
	steps := next.Step - k.base.Step
	k.points, k.rates = slices.Delete(k.points, 0, steps*len(k.params)), slices.Delete(k.rates, 0, steps)
	k.base = next
	return nil
}

// keyframes writes one that is due, and a checkpoint that goes on from there.
func (r *run) keyframes(ctx context.Context) error {
	k := r.trail
	if k == nil || len(k.rates) < k.limit {
		return nil
	}
	used, slot := r.keyframesInUse(), 0
	for used[keyframeName(slot)] { // two checkpoints name no more than two
		slot++
	}
	if err := k.write(ctx, filepath.Join(r.dir, keyframeName(slot)), r.header("keyframe")); engine.Cancelled(err) {
		return err
	} else if err != nil {
		return errors.Join(err, r.checkpoint()) // which is small
	}
	r.dirty = true
	if err := r.checkpoint(); err != nil {
		return err
	}
	r.sweepKeyframes()
	return nil
}

// keyframesInUse are those that the checkpoints name, and the trail.
func (r *run) keyframesInUse() map[string]bool {
	used := map[string]bool{}
	if k := r.trail; k != nil {
		used[k.base.File] = true
	}
	for _, path := range []string{checkpointFile(r.dir), previousFile(r.dir)} {
		file, size, err := disk.Open(path)
		if err != nil {
			continue
		}
		if h, _, err := readHeader(path, file, size, "checkpoint"); err == nil && h.Keyframe != nil {
			used[h.Keyframe.File] = true
		}
		_ = file.Close()
	}
	return used
}

// sweepKeyframes removes those that no checkpoint names.
func (r *run) sweepKeyframes() {
	used := r.keyframesInUse()
	for slot := range keyframeSlots {
		if name := keyframeName(slot); !used[name] {
			_ = os.Remove(filepath.Join(r.dir, name))
		}
	}
}

// replay restores from a checkpoint with a trail what it does not hold.
func (r *run) replay(ctx context.Context, path string, h *header, data []byte) error {
	t, n := r.trainer, r.trainer.System().NumParams()
	s := t.Replayer()
	first, steps := h.Keyframe.Step, h.Step-h.Keyframe.Step
	if s == nil || first < 0 || steps < 0 || steps > len(data)/(4*max(1, n)) || first > 0 && h.Keyframe.File == "" {
		return &FileError{path, fmt.Sprintf("a journal from step %d to step %d does not fit", first, h.Step)}
	}
	k := newTrail(t, s)
	k.base = *h.Keyframe
	k.points = slices.Grow(k.points[:0], (steps+2)*n)[:(steps+1)*n]
	k.rates = slices.Grow(k.rates[:0], steps+2)[:steps]
	if err := fill(context.Background(), path, h, data, k.state()); err != nil {
		return err
	}
	k.set(0)
	if err := r.startReplay(ctx, path, s, &k.base); err != nil {
		return err
	}
	debug.FreeOSMemory() // what the keyframe was read into, before steps that allocate nothing
	for i, rate := range k.rates {
		if err := ctx.Err(); err != nil {
			return err
		}
		k.set(i + 1)
		if !s.Replay(k.base.Step+i+1, rate) {
			return &FileError{path, fmt.Sprintf("its journal leads to numbers that are not finite at step %d", k.base.Step+i+1)}
		}
	}
	r.trail = k
	return nil
}

// startReplay restores what the trail of the checkpoint at path begins with.
func (r *run) startReplay(ctx context.Context, path string, s search.Replayer, base *keyframe) error {
	if base.File == "" {
		s.Replay(0, 0)
		return nil
	}
	key := filepath.Join(r.dir, filepath.Base(base.File))
	h, data, err := readFile(ctx, key, "keyframe")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{path, fmt.Sprintf("goes on from %s, of step %d, which is missing", key, base.Step)}
	case err != nil:
		return err
	case h.sum != base.SHA256:
		return &FileError{path, fmt.Sprintf("goes on from another %s than that there: from one of step %d, checksum %.16s…, not of step %d, %.16s…",
			key, base.Step, base.SHA256, h.Step, h.sum)}
	}
	return fill(ctx, key, h, data, s.Bulk())
}
