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
	history                string // what it was before, empty if the same from the beginning
}

// A measure is what of a row is compared with a bar.
type measure string

const (
	ratio     measure = "×"           // of a peer's time at its best
	installed measure = "× installed" // of a peer's time as it is installed, with as many threads
	rate      measure = "per ns"      // of the row's unit
	fraction  measure = "of floor"    // of the floor's rate
	fastest   measure = "at best"     // of the floor's rate, by the fastest calls
	scaling   measure = "one thread"  // times the rate on one thread
)

// bars lists them in the order of the suites. A bar is not lowered: what changes
// is what it is measured against, and its history says so.
func bars() (all []bar) {
	add := func(suite, operation, path string, threads int, m measure, program string, least float64, history string) {
		all = append(all, bar{suite, operation, path, threads, m, program, least, history})
	}
	for _, size := range []string{"2048x64x64", "2048x256x256"} {
		add("gemm", "forward/"+size, "avx512", 1, ratio, "openblas", 1, "")
		add("gemm", "forward/"+size, "avx2", 1, ratio, "openblas-haswell", 0.9, "")
	}
	const allocator = "until 2f4fad0 PyTorch cleared fresh pages for its matrices and had as many threads of OpenBLAS as of OpenMP"
	for _, threads := range []int{1, 2} {
		add("gram", "loss-gradient/2048x2", "avx512", threads, ratio, "c-gram", 4, "")
		add("gram", "loss-gradient/2048x2", "avx512", threads, ratio, "pytorch", 100, allocator)
	}
	add("hamming", "loss-gradient/2048x3", "avx512", 1, ratio, "our float Gram", 6, "")
	for _, size := range []string{"2048x16", "2048x32", "2048x64"} {
		add("hamming", "training/"+size, "avx512", 1, fraction, "", 0.4, "new after 2f4fad0, which had no such rows; until ea6cb15 the floor counted terms that are zero")
		add("hamming", "wide/"+size, "avx512", 1, fraction, "", 0.4, "new after ea6cb15: a kernel that reaches from any lattice to any other")
	}
	add("rng", "philox/65536", "avx512", 1, rate, "", 8, "")
	add("rng", "normals/65536", "avx512", 1, ratio, "pytorch", 5, "")
	add("math", "exp-negative/65536", "avx512", 1, ratio, "pytorch", 3, "left out from 3773f80 to 2f4fad0 in favour of the next")
	add("math", "exp-negative/65536", "avx512", 1, installed, "pytorch", 3, "since 3773f80: its AVX-512 kernels, switched off as installed, do not count")
	for _, size := range []string{"64", "256", "1024"} {
		for _, draws := range []struct {
			name string
			rate float64
		}{{"shared", 45}, {"independent", 12}} {
			add("metropolis", draws.name+"/"+size, "avx512", 1, rate, "", draws.rate, "")
			add("metropolis", draws.name+"/"+size, "avx512", 1, ratio, "c-metropolis-avx512", 1.1, "new after 2f4fad0, whose only peer drew once for 64 replicas")
		}
	}
	add("hierarchy", "draw/16", "avx512", 1, rate, "", 250e-6, "new after bef29bf")
	for _, draw := range []struct {
		size   string
		least  float64
		before string
	}{{"16", 0.6, ""}, {"32", 0.6, ""}, {"64", 0.65, "; 60 % until adce56ec"}} {
		add("hierarchy", "draw/"+draw.size, "avx512", 1, fraction, "", draw.least, "new after bef29bf; until 3e89d08 the floor counted additions and an exponential that need not be done"+draw.before)
		add("hierarchy", "draw/"+draw.size, "avx512", 1, fastest, "", draw.least, "new after c5a9b63: what others on the host take away is in the median, and not in peak rates"+draw.before)
	}
	const whole = "62 % until adce56ec; until 6c89d1ea the floor was that of the generator and the loss alone"
	for _, system := range []struct {
		name           string
		least          float64
		ratio, floored string
	}{
		{"ising", 25, allocator, whole},
		{"gmm", 100, "since 04137d4; " + allocator, "since 04137d4; until 2f4fad0 the floor counted dense products that are not done; " + whole},
		{"hybrid", 100, "since 04137d4; " + allocator, "since 04137d4; " + whole},
	} {
		row := "train/" + system.name + "/paper"
		add("iteration", row, "avx512", 2, ratio, "pytorch", system.least, system.ratio)
		add("iteration", row, "avx512", 2, fraction, "", 0.8, system.floored)
		add("iteration", row, "avx512", 2, scaling, "", 1.85, "1.8 until adce56ec")
	}
	return all
}

// of returns the row's value, and whether it has one.
func (b *bar) of(row *Row) (value float64, ok bool) {
	switch b.measure {
	case ratio, installed:
		i := slices.IndexFunc(row.Rivals, func(v Rival) bool {
			if b.measure == installed {
				return v.Status == Measured && v.Name == b.program && v.Threads == row.Threads && v.BLAS == 0
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
	case fastest:
		return row.Undisturbed, row.Undisturbed > 0
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
		return formatThroughput(value, unit)
	case fraction:
		return fmt.Sprintf("%.0f %% of the floor", 100*value)
	case fastest:
		return fmt.Sprintf("%.0f %% of the floor by the fastest call", 100*value)
	}
	return formatRate(value) + " × one thread"
}

// writeBars writes a table of the bars that the report has a row for.
func (r *Report) writeBars(b *strings.Builder) {
	heading := "\n### bars\n\n| suite | operation | path | threads | at least | measured | | its history |\n|---|---|---|--:|--:|--:|---|---|\n"
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
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s | %s |\n", bar.suite, bar.operation, bar.path, bar.threads,
			bar.text(bar.least, r.Rows[i].Unit), measured, verdict, bar.history)
	}
}
