package sites

import (
	"fmt"

	"github.com/revgen/revgen/internal/stat"
)

// Settle runs the chains of a reference, and doubles the number of rounds until they agree or
// the next run would take more than maxWork. run returns its work, and of each observable the
// values of all chains, which have equal lengths. If the chains do not agree, Settle returns a
// warning.
func Settle(rounds int, maxWork float64, run func(rounds int) (work float64, observables [][][]float64, err error)) (warnings []string, err error) {
	const agreement = 1.01 // R̂ of chains that agree
	for ; ; rounds *= 2 {
		work, observables, err := run(rounds)
		if err != nil {
			return nil, err
		}
		worst := 0.0
		for _, chains := range observables {
			worst = max(worst, stat.Chains(stat.Interleaved(chains), len(chains)).RHat)
		}
		switch {
		case worst <= agreement:
			return nil, nil
		case 2*work > maxWork:
			return []string{fmt.Sprintf("the reference has not converged: after %d rounds of its chains R̂ is %.3f, so its standard errors are too small", rounds, worst)}, nil
		}
	}
}
