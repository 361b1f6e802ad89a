package density

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// serve is a program for −|x|²/2 in two dimensions that hangs, dies or answers NaN
// from its fourth hundred questions on, or of which one process answers otherwise than others.
func serve(behaviour string) {
	head := make([]byte, 20)
	if _, err := io.ReadFull(os.Stdin, head); err != nil {
		return
	}
	os.Stdout.Write(head)
	mark := os.Getenv("MARK") // of a process that has died
	_, err := os.Stat(mark)
	died := err == nil
	var end struct{ at, how int } // of a mortal process: before which question, and in the middle of what
	fmt.Sscan(os.Getenv("END"), &end.at, &end.how)
	if died {
		end.at = 0
	}
	apart := 0.0 // by which the process answers otherwise than the first
	if behaviour == "apart" {
		if first, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			first.Close()
		} else {
			apart = 1e-12
		}
	}
	asked := 0
	mortal := func(how int) {
		if behaviour == "mortal" && end.how == how && asked >= end.at {
			if mark != "" {
				_ = os.WriteFile(mark, nil, 0o600)
			}
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			time.Sleep(time.Hour)
		}
	}
	for ; ; asked++ {
		mortal(0)
		count := make([]byte, 4)
		if _, err := io.ReadFull(os.Stdin, count); err != nil {
			return
		}
		mortal(1)
		body := make([]byte, 16*binary.LittleEndian.Uint32(count))
		if _, err := io.ReadFull(os.Stdin, body); err != nil {
			return
		}
		if asked >= 400 || died {
			switch behaviour {
			case "hang":
				time.Sleep(time.Hour)
			case "die":
				if err := os.WriteFile(mark, nil, 0o600); err != nil {
					panic(err)
				}
				os.Stderr.WriteString("Segmentation fault\n")
				os.Exit(1)
			}
		}
		for i := 0; i < len(body); i += 16 {
			x := math.Float64frombits(binary.LittleEndian.Uint64(body[i:]))
			y := math.Float64frombits(binary.LittleEndian.Uint64(body[i+8:]))
			v := -(x*x+y*y)/2 + apart
			if behaviour == "nan" && asked >= 400 {
				v = math.NaN()
			}
			count = binary.LittleEndian.AppendUint64(count, math.Float64bits(v))
		}
		if behaviour == "mortal" && asked >= end.at && end.how == 3 {
			os.Stdout.Write(count[:len(count)/2])
		}
		mortal(2)
		mortal(3)
		os.Stdout.Write(count)
		mortal(4)
	}
}

func trained(t *testing.T, cfg engine.Config) (r struct {
	params []float32
	table  *measure.Evaluation
}) {
	t.Helper()
	workers := pool.New(2)
	defer workers.Close()
	result, err := run.Train(context.Background(), cfg, workers, run.Options{})
	require.NoError(t, err)
	r.params, r.table = result.Params, result.Evaluation
	return r
}

// TestBadTargets: what cannot be sampled is an error before the first step, or
// within the first ones.
func TestBadTargets(t *testing.T) {
	for text, want := range map[string]string{
		"log(-1 - sum(x^2))":                "ln π is NaN at x = [",
		"-1/sum(x - x)":                     "target.expression: ln π is -Inf at x = [",
		"sum(x) > 1e9 ? 0 : -inf":           "target.expression: ln π is −∞ at all of 832 states about the origin, near and far",
		"0":                                 "target.expression: π cannot be normalised: chains drift away without end",
		"sum(x^2)":                          "target.expression: π cannot be normalised: chains drift away without end",
		"sum(x)":                            "target.expression: π cannot be normalised: chains drift away without end",
		"-abs(x[0])":                        "target.expression: π cannot be normalised: chains drift away without end",
		"inf":                               "target.expression: ln π is +Inf at x = [",
		"-x[2]^2":                           "column 4, at 2]^2: an index is 2 and must be between 0 and 1",
		"x[0] > 0 ? 1/x[0] : -log(-x[0])/0": "target.expression: ln π is ",
	} {
		if text == "-1/sum(x - x)" { // −∞ everywhere, by another way
			want = "ln π is −∞ at all of"
		}
		_, err := catalogue.Systems{RealsDefinition}.Configure("reals", "", "target.expression="+text, "target.parameters={}", "target.center=[]", "target.scale=[]")
		require.ErrorContains(t, err, want, text)
	}
	for set, want := range map[string]string{
		"target.dim=0":                                      "target.dim: 0 is not between 1 and",
		"target.kind=go":                                    "target.kind: this program was built without a target in Go for reals",
		"target.kind=formula":                               `target.kind: "formula" is not one of expression, program, go`,
		"target.center=[1,2,3]":                             "target.center: 3 numbers for 2 coordinates",
		"target.scale=[0]":                                  "target.scale[0]: 0 is not between",
		"target.link=cauchit":                               `target.link: "cauchit" is not one of probit, logit`,
		"target.support=[[2,1]]":                            "target.support[0]: 2 is not below 1",
		"target.support=[[1,1.00000001]]":                   "target.support[0]: states are float32, of which none is between 1 and 1.00000001",
		"target.support=[[0,1],[0,1],[0,1]]":                "target.support: 3 pairs for 2 coordinates",
		`target.parameters={"radius":[],"width":1}`:         "parameters.radius",
		`target.parameters={"radius":2,"width":1,"x":1}`:    `target.parameters.x: "x" has a meaning of its own in expressions`,
		`target.parameters={"radius":2,"width":1,"pi":1}`:   `"pi" has a meaning of its own`,
		`target.parameters={"radius":2,"width":1,"sum":1}`:  `"sum" has a meaning of its own`,
		`target.parameters={"radius":2,"width":1,"let":1}`:  `"let" is no name that an expression can have`,
		`target.parameters={"radius":2,"width":1,"":1}`:     `"" is no name`,
		`target.parameters={"radius":2,"width":1,"a-b":1}`:  `"a-b" is no name`,
		`target.parameters={"radius":2,"width":1," a":1}`:   `" a" is no name`,
		`target.parameters={"radius":2,"width":1,"true":1}`: `"true" is no name`,
	} {
		_, err := catalogue.Systems{RealsDefinition}.Configure("reals", "", set)
		require.ErrorContains(t, err, want, set)
	}
	_, err := catalogue.Systems{RealsDefinition}.Configure("reals", "paper", "target.center=[0,-1e4]", "target.scale=[1e-3]")
	require.ErrorContains(t, err, "target.scale[0]: 0.001 is too little about -10000: states are float32, which are 0.00098 apart there; let the coordinate be the distance from -10000")
	_, err = catalogue.Systems{RealsDefinition}.Configure("reals", "", "target.kind=program")
	require.ErrorContains(t, err, "target.command: the list is empty")
	_, err = catalogue.Systems{RealsDefinition}.Configure("reals", "", "target.kind=program", `target.command=["true"]`, "target.center=[]", "target.scale=[]")
	require.ErrorContains(t, err, "target.command: worker 0 (true) ended (exit status 0) before it had answered the greeting")
	_, err = catalogue.Systems{RealsDefinition}.Configure("reals", "", "target.kind=program", `target.command=["true"]`, "target.timeout_seconds=0")
	require.ErrorContains(t, err, "target.timeout_seconds: 0 is not between")
	_, err = catalogue.Systems{MixedDefinition}.Configure("mixed", "", "target.modes=0")
	require.ErrorContains(t, err, "target.modes: 0 is not between 1 and 256")
	_, err = catalogue.Systems{MixedDefinition}.Configure("mixed", "", "target.modes=4")
	require.ErrorContains(t, err, "the mode k takes 4 values, and there are 3 here")
	_, err = catalogue.Systems{MixedDefinition}.Configure("mixed", "", "target.center=[[1]]")
	require.ErrorContains(t, err, "target.center: 1 lists for 3 modes")
}

// TestHopelessTraining: where a configuration says all there is to say of a target
// that is good for nothing, the first steps find it out.
func TestHopelessTraining(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for text, want := range map[string]string{
		"sum(x) > 1e9 ? 0 : -inf": "ln π is −∞ at each of",
		"0":                       "a constant cannot be normalised",
		"x[0] < 3 ? -sum(x^2)/2 : sqrt(x[1] - 1e3)": "target.expression: ln π is NaN at x = [",
	} {
		cfg := configure(t, RealsDefinition, "paper", "target.expression="+text, "target.parameters={}", "target.scale=[1.6]", "training.steps=100")
		_, err := run.Train(context.Background(), cfg, workers, run.Options{})
		var failed *engine.TargetError
		require.ErrorAs(t, err, &failed, text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestNothingIsLost: a program that dies, or answers NaN, in the middle of a run ends
// it with a checkpoint of the step before; a run goes on from there, with the bits of
// one that was never stopped, when the program has been mended.
func TestNothingIsLost(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(1)
	defer workers.Close()
	settings := []string{"target.kind=program", "target.center=[]", "target.scale=[1]", "training.steps=40", "training.checkpoint_every=0", "training.log_every=1"}
	command := filepath.Join(t.TempDir(), "target")
	behave := func(behaviour string) {
		require.NoError(t, os.WriteFile(command, []byte("#!/bin/sh\nMARK="+command+".mark exec "+os.Args[0]+" -serve "+behaviour+"\n"), 0o700))
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell")
	}
	behave("well")
	cfg := configure(t, RealsDefinition, "paper", append(settings, quoted(t, "target.command", command))...)
	want := trained(t, cfg)
	for behaviour, text := range map[string]string{"die": "Segmentation fault", "nan": "target.command: ln π is NaN at x = ["} {
		dir := t.TempDir()
		behave(behaviour)
		_, err := run.Train(context.Background(), cfg, workers, run.Options{Dir: dir})
		var failed *engine.TargetError
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, text)
		require.Greater(t, failed.Step, 5)
		behave("well")
		first := 0
		result, err := run.Train(context.Background(), cfg, workers, run.Options{Dir: dir, Resume: "must", Progress: func(p run.Progress) {
			if first == 0 {
				first = p.Step
			}
		}})
		require.NoError(t, err)
		require.Equal(t, failed.Step, first, "the run goes on with the step that failed")
		require.Equal(t, want.params, result.Params)
	}
}

// TestKilledPrograms: wherever a target's program is killed for good, while its target is
// looked at, trained on or measured, before, within or after an answer, the run says so, and goes
// on to the same bits when the program lives.
func TestKilledPrograms(t *testing.T) {
	long.SkipShort(t)
	workers, r := pool.New(1), long.Rand()
	defer workers.Close()
	command := filepath.Join(t.TempDir(), "target")
	behave := func(end, mark string) {
		_ = os.Remove(mark)
		require.NoError(t, os.WriteFile(command, []byte("#!/bin/sh\nEND='"+end+"' MARK='"+mark+"' exec "+os.Args[0]+" -serve mortal\n"), 0o700))
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell")
	}
	behave("1000000 0", "")
	settings := []string{"target.kind=program", "training.steps=20", "training.batch=64", "training.checkpoint_every=7", "evaluation.samples=1000", quoted(t, "target.command", command)}
	cfg := configure(t, RealsDefinition, "paper", settings...)
	whole, err := run.Train(context.Background(), cfg, workers, run.Options{})
	require.NoError(t, err)
	stages := map[string]int{}
	for range long.Times(4, 24) {
		dir := t.TempDir()
		end, mark := fmt.Sprint(r.IntN(1+r.IntN(400)), " ", r.IntN(5)), ""
		if r.IntN(4) > 0 { // and so does what is started in its place
			mark = command + ".mark"
		}
		behave(end, mark)
		if r.IntN(4) == 0 {
			if _, err := (catalogue.Systems{RealsDefinition}).Configure("reals", "paper", settings...); err != nil {
				require.ErrorContains(t, err, "killed", end)
				stages["a look"]++
				continue
			}
		}
		_, err := run.Train(context.Background(), cfg, workers, run.Options{Dir: dir})
		if err != nil {
			require.ErrorContains(t, err, "killed", end)
			stage := "measurement"
			if errors.As(err, new(*engine.TargetError)) {
				stage = "training"
			}
			stages[stage]++
		} else {
			stages["none: another took its place"]++
		}
		behave("1000000 0", "")
		result, err := run.Train(context.Background(), cfg, workers, run.Options{Dir: dir})
		require.NoError(t, err, end)
		require.Equal(t, whole.Params, result.Params, end)
	}
	t.Log("killed for good in ", stages)
}

// TestHangingProgram: a run whose program hangs stops when it is asked to, with a
// checkpoint.
func TestHangingProgram(t *testing.T) {
	long.SkipShort(t)
	t.Parallel()
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "paper", "target.kind=program", "target.center=[]", "target.scale=[1]", "target.timeout_seconds=3600", "training.steps=1000",
		quoted(t, "target.command", os.Args[0], "-serve", "hang"))
	ctx, cancel := context.WithCancel(context.Background())
	var asked time.Time
	go func() {
		time.Sleep(time.Second)
		asked = time.Now()
		cancel()
	}()
	_, err := run.Train(ctx, cfg, workers, run.Options{Dir: t.TempDir()})
	var stopped *run.StopError
	require.ErrorAs(t, err, &stopped)
	require.Less(t, time.Since(asked), 5*time.Minute, "not after an hour")
}
