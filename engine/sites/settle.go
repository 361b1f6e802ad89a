package sites

import (
	"fmt"

	"github.com/revgen/revgen/internal/stat"
)

// Settle runs chains of a reference for a number of rounds, and for twice as many as long as they
// do not agree and the work stays within most. run returns what it did of that, and the numbers
// that chains of equal length drew. There is a warning of chains that do not agree at last.
func Settle(rounds int, most float64, run func(rounds int) (work float64, numbers [][][]float64, err error)) (warnings []string, err error) {
	const agreement = 1.01 // R̂ of chains that agree
	for ; ; rounds *= 2 {
		work, numbers, err := run(rounds)
		if err != nil {
			return nil, err
		}
		worst := 0.0
		for _, chains := range numbers {
			worst = max(worst, stat.Chains(stat.Interleaved(chains), len(chains)).RHat)
		}
		switch {
		case worst <= agreement:
			return nil, nil
		case 2*work > most:
			return []string{fmt.Sprintf("the reference has not converged: after %d rounds of its chains R̂ is %.3f, so its standard errors are too small", rounds, worst)}, nil
		}
	}
}
