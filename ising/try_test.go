package ising

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/pool"
)

func TestTry(t *testing.T) {
	spec := os.Getenv("TRY")
	if spec == "" {
		t.Skip()
	}
	c, _ := Preset(os.Getenv("PRESET"))
	if err := json.Unmarshal([]byte(spec), c); err != nil {
		t.Fatal(err)
	}
	w := pool.New(2)
	t0 := time.Now()
	tr, err := engine.NewTrainer(c, w)
	if err != nil {
		t.Fatal(err)
	}
	for tr.Steps() < c.Training.Steps {
		if err := tr.Step(); err != nil {
			t.Fatal(err)
		}
		if tr.Steps()%(max(1, c.Training.Steps/5)) == 0 {
			ev, _ := tr.System().(engine.Evaluator).Evaluate(context.Background(), tr.Params(), 200000)
			fmt.Printf("%d %.1fs %+.3g acc %.3f ", tr.Steps(), time.Since(t0).Seconds(), tr.Record().Loss, tr.Record().Acceptance)
			for _, m := range ev.Metrics {
				fmt.Printf(" %s %.4f(%.4f)", m.Name[:3], m.Error, m.Floor)
			}
			fmt.Println(ev.Warnings)
		}
	}
}
