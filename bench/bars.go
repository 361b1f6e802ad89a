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
	program                string // the peer's, for measures that compare with one
	minimum                float64
	history                string // former minimums and ways to measure; empty if there were none
}

// A measure is the number of a row that a bar bounds.
type measure string

const (
	byRatio     measure = "×"           // time of the peer's fastest setting divided by ours
	byInstalled measure = "× installed" // the same for the peer as it is installed, with as many threads as the row
	byRate      measure = "per ns"      // throughput in the row's unit
	byFloor     measure = "of floor"    // fraction of the floor's rate, by the median time
	byFastest   measure = "at best"     // the same by the fastest calls
	byScaling   measure = "one thread"  // rate divided by that on one thread
)

// bars returns all bars in the order of the suites. A bar is not lowered. If the way to
// measure it changes, its history says so.
func bars() (list []bar) {
	add := func(suite, operation, path string, threads int, m measure, program string, minimum float64, history string) {
		list = append(list, bar{suite, operation, path, threads, m, program, minimum, history})
	}
	for _, size := range []string{"2048x64x64", "2048x256x256"} {
		add("gemm", "forward/"+size, "avx512", 1, byRatio, "openblas", 1, "")
		add("gemm", "forward/"+size, "avx2", 1, byRatio, "openblas-haswell", 0.9, "")
	}
	const allocator = "until 2f4fad0 PyTorch cleared fresh pages for its matrices and had as many threads of OpenBLAS as of OpenMP"
	for _, threads := range []int{1, 2} {
		add("gram", "loss-gradient/2048x2", "avx512", threads, byRatio, "c-gram", 4, "")
		add("gram", "loss-gradient/2048x2", "avx512", threads, byRatio, "pytorch", 100, allocator)
	}
	add("hamming", "loss-gradient/2048x3", "avx512", 1, byRatio, "our float Gram", 6, "")
	for _, size := range []string{"2048x16", "2048x32", "2048x64"} {
		add("hamming", "training/"+size, "avx512", 1, byFloor, "", 0.4, "new after 2f4fad0, which had no such rows; until ea6cb15 the floor counted terms that are zero")
		add("hamming", "wide/"+size, "avx512", 1, byFloor, "", 0.4, "new after ea6cb15: a kernel that reaches from any lattice to any other")
	}
	add("rng", "philox/65536", "avx512", 1, byRate, "", 8, "")
	add("rng", "normals/65536", "avx512", 1, byRatio, "pytorch", 5, "")
	add("math", "exp-negative/65536", "avx512", 1, byRatio, "pytorch", 3, "left out from 3773f80 to 2f4fad0 in favour of the next")
	add("math", "exp-negative/65536", "avx512", 1, byInstalled, "pytorch", 3, "since 3773f80: its AVX-512 kernels, switched off as installed, do not count")
	for _, size := range []string{"64", "256", "1024"} {
		for _, draws := range []struct {
			name string
			rate float64
		}{{"shared", 45}, {"independent", 12}} {
			add("metropolis", draws.name+"/"+size, "avx512", 1, byRate, "", draws.rate, "")
			add("metropolis", draws.name+"/"+size, "avx512", 1, byRatio, "c-metropolis-avx512", 1.1, "new after 2f4fad0, whose only peer drew once for 64 replicas")
		}
	}
	add("hierarchy", "draw/16", "avx512", 1, byRate, "", 250e-6, "new after bef29bf")
	for _, draw := range []struct {
		size    string
		minimum float64
		former  string
	}{{"16", 0.6, ""}, {"32", 0.6, ""}, {"64", 0.65, "; 60 % until adce56ec"}} {
		add("hierarchy", "draw/"+draw.size, "avx512", 1, byFloor, "", draw.minimum, "new after bef29bf; until 3e89d08 the floor counted additions and an exponential that need not be done"+draw.former)
		add("hierarchy", "draw/"+draw.size, "avx512", 1, byFastest, "", draw.minimum, "new after c5a9b63: what others on the host take away is in the median, and not in peak rates"+draw.former)
	}
	const stepFloor = "62 % until adce56ec; until 6c89d1ea the floor was that of the generator and the loss alone"
	for _, system := range []struct {
		name         string
		minRatio     float64
		ratioHistory string
		floorHistory string
	}{
		{"ising", 25, allocator, stepFloor},
		{"gmm", 100, "since 04137d4; " + allocator, "since 04137d4; until 2f4fad0 the floor counted dense products that are not done; " + stepFloor},
		{"hybrid", 100, "since 04137d4; " + allocator, "since 04137d4; " + stepFloor},
	} {
		row := "train/" + system.name + "/paper"
		add("iteration", row, "avx512", 2, byRatio, "pytorch", system.minRatio, system.ratioHistory)
		add("iteration", row, "avx512", 2, byFloor, "", 0.8, system.floorHistory)
		add("iteration", row, "avx512", 2, byScaling, "", 1.85, "1.8 until adce56ec")
	}
	return list
}

// value returns the number that the bar bounds, and whether the row has it.
func (b *bar) value(row *Row) (value float64, ok bool) {
	switch b.measure {
	case byRatio, byInstalled:
		i := slices.IndexFunc(row.Rivals, func(v Rival) bool {
			if b.measure == byInstalled {
				return v.Status == Measured && v.Name == b.program && v.Threads == row.Threads && v.BLAS == 0
			}
			return v.Best && v.Program == b.program
		})
		if i < 0 {
			return 0, false
		}
		return row.Rivals[i].Ratio, true
	case byRate:
		return row.Rate, true
	case byFloor:
		return row.Fraction, row.Floor.Nanoseconds > 0
	case byFastest:
		return row.Undisturbed, row.Undisturbed > 0
	}
	return row.Scaling, row.Scaling > 0
}

// text writes a value of the bar's measure.
func (b *bar) text(value float64, unit string) string {
	switch b.measure {
	case byRatio:
		return fmt.Sprintf("%s × %s", formatRate(value), b.program)
	case byInstalled:
		return fmt.Sprintf("%s × %s as installed", formatRate(value), b.program)
	case byRate:
		return formatThroughput(value, unit)
	case byFloor:
		return fmt.Sprintf("%.0f %% of the floor", 100*value)
	case byFastest:
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
		if value, ok := bar.value(&r.Rows[i]); ok {
			measured, verdict = bar.text(value, r.Rows[i].Unit), "missed"
			if value >= bar.minimum {
				verdict = "met"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s | %s |\n", bar.suite, bar.operation, bar.path, bar.threads,
			bar.text(bar.minimum, r.Rows[i].Unit), measured, verdict, bar.history)
	}
}
