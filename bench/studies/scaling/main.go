// Command scaling says what trainings cost on more ranks than are at hand.
//
//	go run -C bench/studies ./scaling measure     processor time and messages of ranks in one process
//	go run -C bench/studies ./scaling simulate    the table of docs/scaling.md, from calibration.json
//
// calibration.json holds what measure prints.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/revgen/revgen/internal/stat"
)

//go:embed calibration.json
var calibrated []byte

func calibration() (runs []Run, err error) {
	err = json.Unmarshal(calibrated, &runs)
	return runs, err
}

func main() {
	verb := ""
	if len(os.Args) == 2 {
		verb = os.Args[1]
	}
	var err error
	switch verb {
	case "measure":
		err = measureAll()
	case "simulate":
		var runs []Run
		if runs, err = calibration(); err == nil {
			fmt.Print(table(runs, 300))
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: scaling measure|simulate")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

// cluster is a machine of today's. Messages in a node take what they took between two ranks of
// Open MPI on one machine; the rest are assumptions.
var cluster = Machine{
	Near: Link{Latency: 2e-6, Bandwidth: 14e9}, Far: Link{Latency: 2e-6, Bandwidth: 2e9}, Node: 64,
	Spread: 0.02, Hiccups: 1e-4, Hiccup: 1e-3,
}

// table simulates all runs.
func table(runs []Run, steps int) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| run | ranks | a step, ms | of that messages | efficiency |")
	fmt.Fprintln(&b, "|---|--:|--:|--:|--:|")
	for _, run := range runs {
		one := 0.0
		for _, n := range []int{1, 2, 4, 16, 64, 256, 1024} {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			step := stat.MeanOf(Steps(&run, &cluster, n, steps, r)).Value()
			if n == 1 {
				one = step
			}
			var messages float64
			for i := range run.Stages {
				messages += cluster.call(n, &run.Stages[i])
			}
			fmt.Fprintf(&b, "| %s, batch %s | %d | %s | %.0f %% | %.0f %% |\n", run.Name, thousands(run.Batch), n,
				digits(step*1e3), 100*messages/step, 100*one/step/float64(n))
		}
	}
	return b.String()
}

// digits writes three digits.
func digits(x float64) string {
	if x <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(x)))), x)
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
