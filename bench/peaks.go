package bench

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A Resource is something that the machine has a measurable rate of.
type Resource string

// The resources that floors are counted in. Operations are on single numbers:
// a vector instruction is as many as it has lanes.
const (
	FMA      Resource = "fma"      // float32 products, fused with an addition or not
	Float    Resource = "float"    // float32 operations of any kind
	Integer  Resource = "integer"  // operations on 32-bit integers or masks
	Multiply Resource = "multiply" // 32×32-bit products of 64 bits
	Lookup   Resource = "lookup"   // steps of a look-up in a table in registers, see asm.ProbeLookup
	Read     Resource = "read"     // bytes
	Write    Resource = "write"    // bytes
)

// Resources returns all resources, in the order of a floor's terms.
func Resources() []Resource { return []Resource{FMA, Float, Integer, Multiply, Lookup, Read, Write} }

// peaks measures and remembers the peak rates of one path and number of
// threads. A rate is the median of samples that are taken all along a run.
type peaks struct {
	path    asm.Path
	workers *pool.Pool
	rates   []Peak
	memory  [][]uint64 // a slice for every thread, of the largest size so far
}

// rate returns the peak rate of a resource, in operations or bytes per nanosecond of all
// threads together. bytes is the size of the memory that all threads together read or write
// over and over, and so decides which cache they use. A rate without samples is sampled
// once.
func (p *peaks) rate(r Resource, bytes int) float64 {
	s := p.peak(r, bytes)
	if s.Rate == 0 {
		p.sample(r, bytes)
	}
	return s.Rate
}

// peak returns the rate of a resource and its samples, of which there are none at first.
func (p *peaks) peak(r Resource, bytes int) *Peak {
	if r != Read && r != Write {
		bytes = 0
	}
	k := slices.IndexFunc(p.rates, func(s Peak) bool { return s.Resource == r && s.Bytes == bytes })
	if k < 0 {
		k = len(p.rates)
		p.rates = append(p.rates, Peak{Path: p.path.String(), Threads: p.workers.Threads(), Resource: r, Bytes: bytes})
	}
	return &p.rates[k]
}

// sample measures a rate once more.
func (p *peaks) sample(r Resource, bytes int) {
	s := p.peak(r, bytes)
	s.Rates = append(s.Rates, p.measure(r, bytes))
	s.Rate = stat.Median(s.Rates)
}

// sampleAll samples what the floor of n depends on.
func (p *peaks) sampleAll(n need) {
	for _, phase := range n {
		for _, r := range Resources() {
			if phase.counts[r] != 0 {
				p.sample(r, phase.bytes)
			}
		}
	}
}

// measure runs bursts that are too short to be interrupted often and keeps the
// fastest. Threads share nothing that the probes of operations use, so one is
// measured and the others are taken to be as fast; memory is measured with all.
func (p *peaks) measure(r Resource, bytes int) float64 {
	threads := p.workers.Threads()
	if r != Read && r != Write {
		probe := map[Resource]asm.Probe{FMA: asm.ProbeFMA, Float: asm.ProbeFloat, Integer: asm.ProbeInteger, Multiply: asm.ProbeMultiply, Lookup: asm.ProbeLookup}[r]
		const rounds = 1 << 13
		operations := probe.Run(1) * rounds
		return operations / p.shortestBurst(func() { probe.Run(rounds) }) * float64(min(threads, runtime.GOMAXPROCS(0)))
	}
	words := max(bytes/threads/8, 1024)
	if len(p.memory) == 0 || len(p.memory[0]) < words {
		p.memory = threadMemory(threads, words)
	}
	passes := max(1, (1<<17)/words)
	body := func(i int) {
		memory := p.memory[i][:words]
		for range passes {
			if r == Read {
				sink(asm.ReadWords(memory))
			} else {
				clear(memory)
			}
		}
	}
	return float64(8*words*passes*threads) / p.shortestBurst(func() { p.workers.Run(threads, body) })
}

// shortestBurst returns the shortest time of a burst, in nanoseconds.
func (p *peaks) shortestBurst(burst func()) float64 {
	const minBursts, maxBursts, maxTime = 5, 40, 4 * time.Millisecond
	best := math.Inf(1)
	for start, i := time.Now(), 0; i < minBursts || i < maxBursts && time.Since(start) < maxTime; i++ {
		t := time.Now()
		burst()
		best = min(best, float64(max(time.Since(t).Nanoseconds(), 1)))
	}
	return best
}

//go:noinline
func sink(x uint64) { runtime.KeepAlive(x) }

// floor returns the least time of a call that needs n. The scarcest resource of each phase
// decides how long it takes.
func (p *peaks) floor(n need) Floor {
	var f Floor
	for _, phase := range n {
		longest := 0.0
		for _, r := range Resources() {
			count := phase.counts[r]
			if count == 0 {
				continue
			}
			t := Term{phase.name, r, count, count / p.rate(r, phase.bytes)}
			f.Terms = append(f.Terms, t)
			longest = max(longest, t.Nanoseconds)
		}
		f.Nanoseconds += longest
	}
	return f
}
