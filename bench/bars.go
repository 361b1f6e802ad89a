package bench

import (
	"fmt"
	"slices"
	"strings"
)

// A bar is a performance that the project holds itself to, on a processor with
// AVX-512 and two cores.
type bar struct {
	suite, operation, path string
	threads                int
	measure                measure
	program                string // that a ratio is to
	least                  float64
}

// A measure is what of a row is compared with a bar.
type measure string

const (
	ratio     measure = "×"           // of a peer's time at its best
	installed measure = "× installed" // of a peer's time as it is installed, with as many threads
	rate      measure = "per ns"      // of the row's unit
	fraction  measure = "of floor"    // of the floor's rate
	scaling   measure = "one thread"  // times the rate on one thread
)

// bars lists them in the order of the suites.
func bars() []bar {
	all := []bar{}
	for _, size := range []string{"2048x64x64", "2048x256x256"} {
		all = append(all,
			bar{"gemm", "forward/" + size, "avx512", 1, ratio, "openblas", 1},
			bar{"gemm", "forward/" + size, "avx2", 1, ratio, "openblas-haswell", 0.9})
	}
	for _, threads := range []int{1, 2} {
		all = append(all,
			bar{"gram", "loss-gradient/2048x2", "avx512", threads, ratio, "c-gram", 4},
			bar{"gram", "loss-gradient/2048x2", "avx512", threads, ratio, "pytorch", 100})
	}
	all = append(all,
		bar{"hamming", "loss-gradient/2048x3", "avx512", 1, ratio, "our float Gram", 6},
		bar{"rng", "philox/65536", "avx512", 1, rate, "", 8},
		bar{"rng", "normals/65536", "avx512", 1, ratio, "pytorch", 5},
		bar{"math", "exp-negative/65536", "avx512", 1, installed, "pytorch", 3})
	for _, size := range []string{"64", "256", "1024"} {
		all = append(all,
			bar{"metropolis", "shared/" + size, "avx512", 1, rate, "", 45},
			bar{"metropolis", "independent/" + size, "avx512", 1, rate, "", 12})
	}
	for _, system := range []struct {
		name  string
		least float64
	}{{"ising", 25}, {"gmm", 100}, {"hybrid", 100}} {
		row := "train/" + system.name + "/paper"
		all = append(all,
			bar{"iteration", row, "avx512", 2, ratio, "pytorch", system.least},
			bar{"iteration", row, "avx512", 2, fraction, "", 1 / 1.6},
			bar{"iteration", row, "avx512", 2, scaling, "", 1.8})
	}
	return all
}

// of returns the row's value, and whether it has one.
func (b *bar) of(row *Row) (value float64, ok bool) {
	switch b.measure {
	case ratio, installed:
		i := slices.IndexFunc(row.Rivals, func(v Rival) bool {
			if b.measure == installed {
				return v.Status == Measured && v.Name == b.program && v.Threads == row.Threads
			}
			return v.Best && v.Program == b.program
		})
		if i < 0 {
			return 0, false
		}
		return row.Rivals[i].Ratio, true
	case rate:
		return row.Rate, true
	case fraction:
		return row.Fraction, row.Floor.Nanoseconds > 0
	}
	return row.Scaling, row.Scaling > 0
}

// text writes a value of the bar's measure.
func (b *bar) text(value float64, unit string) string {
	switch b.measure {
	case ratio:
		return fmt.Sprintf("%s × %s", formatRate(value), b.program)
	case installed:
		return fmt.Sprintf("%s × %s as installed", formatRate(value), b.program)
	case rate:
		return formatRate(value) + " " + rateUnit(unit)
	case fraction:
		return fmt.Sprintf("%.0f %% of the floor", 100*value)
	}
	return formatRate(value) + " × one thread"
}

// writeBars writes a table of the bars that the report has a row for.
func (r *Report) writeBars(b *strings.Builder) {
	heading := "\n### bars\n\n| suite | operation | path | threads | at least | measured | |\n|---|---|---|--:|--:|--:|---|\n"
	for _, bar := range bars() {
		row := Row{Suite: bar.suite, Name: bar.operation, Path: bar.path, Threads: bar.threads}
		i := slices.IndexFunc(r.Rows, func(q Row) bool { return q.ID() == row.ID() })
		if i < 0 {
			continue
		}
		b.WriteString(heading)
		heading = ""
		measured, verdict := "–", "not measured"
		if value, ok := bar.of(&r.Rows[i]); ok {
			measured, verdict = bar.text(value, r.Rows[i].Unit), "missed"
			if value >= bar.least {
				verdict = "met"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s |\n", bar.suite, bar.operation, bar.path, bar.threads,
			bar.text(bar.least, r.Rows[i].Unit), measured, verdict)
	}
}
