package reproduce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
)

// A FieldRival is another generator with a density, trained on the same machine.
type FieldRival struct {
	Name      string  `json:"name"`
	Seconds   float64 `json:"seconds"` // of training, of processors
	Steps     int     `json:"steps"`
	ESS       float64 `json:"effective_size"`
	LogZ      float64 `json:"log_z"`
	LogZError float64 `json:"log_z_error"`
}

const rivalSamples = 2048

// rivalSeconds is how long a rival trains in the end.
var rivalSeconds = 30.0

// rivals trains a variational autoregressive network for a critical lattice: for as long
// as ours took, and until rivalSeconds have passed. It returns none, and says so, where
// PyTorch is not installed.
func (e *execution) rivals(ctx context.Context, seed uint64, ours float64) (all []FieldRival, err error) {
	workshop, err := peers.NewWorkshop(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, workshop.Close()) }()
	peer, err := peers.Find("pytorch")
	if err != nil {
		return nil, err
	}
	process, err := workshop.Start(peer, peers.Setting{Threads: 1})
	var missing *peers.MissingError
	if errors.As(err, &missing) {
		if e.watch.Warning != nil {
			e.watch.Warning(missing.Error())
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seconds, steps := make([]float64, 1), 0
	for _, until := range []float64{ours, rivalSeconds} {
		if until < ours {
			continue
		}
		if steps == 0 {
			err = process.Select("van", e.field.Rival, criticalBeta, seed)
		} else {
			err = process.Select("continue")
		}
		for err == nil && (steps == 0 || seconds[0] < until) {
			if _, err = process.Run(1); err == nil {
				steps, err = steps+1, process.Store("seconds", seconds)
			}
		}
		r := make([]float64, rivalSamples)
		if err == nil {
			err = process.Select("judge", len(r))
		}
		if err == nil {
			_, err = process.Run(1)
		}
		if err == nil {
			err = process.Store("r", r)
		}
		if err != nil {
			return nil, err
		}
		x := engine.NewImportance(r)
		all = append(all, FieldRival{"VAN", seconds[0], steps, x.ESS, x.LogZ, x.Error})
	}
	return all, nil
}

// String says what a rival reached.
func (r FieldRival) String() string {
	return fmt.Sprintf("%s here: ESS %.2g after %s, %d steps", r.Name, r.ESS, time.Duration(float64(time.Second)*r.Seconds).Round(100*time.Millisecond), r.Steps)
}
