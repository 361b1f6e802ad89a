package density

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
)

// A coordinate is the map x = f(u), u = c + s·y + Σ a·y of those before it, from the line to
// a coordinate's support: f(u) is u without a bound, low + eᵘ or high − eᵘ with one, and
// low + (high − low)·F(u) with two, where F is the normal distribution function, so that a
// density that is finite at the bounds has the tails of a Gaussian; or 1/(1 + e⁻ᵘ).
type coordinate struct {
	center, scale float64
	low, high     float64   // infinite without a bound
	logit         bool      // F(u) = 1/(1 + e⁻ᵘ)
	free          bool      // without any
	least, most   float32   // states between them, infinite without a bound
	shear         []float64 // a, for each coordinate before it, or nil
}

func (c *coordinate) bounded() bool { return !math.IsInf(c.low, 0) || !math.IsInf(c.high, 0) }

// sheared returns Σ a·y of the coordinates before it.
func (c *coordinate) sheared(y []float32) (sum float64) {
	for j, a := range c.shear {
		sum += a * float64(y[j])
	}
	return sum
}

// line returns u of coordinate i of the state y.
func (c *coordinate) line(y []float32, i int) float64 {
	return c.center + c.sheared(y) + c.scale*float64(y[i])
}

// bend returns x of u, and ln |df/du|.
func (c *coordinate) bend(u float64) (x, logSlope float64) {
	below, above := !math.IsInf(c.low, 0), !math.IsInf(c.high, 0)
	switch {
	case below && above && !c.logit:
		logSlope = math.Log((c.high-c.low)/math.Sqrt(2*math.Pi)) - u*u/2
		if u < 0 {
			return c.low + (c.high-c.low)*math.Erfc(-u/math.Sqrt2)/2, logSlope
		}
		return c.high - (c.high-c.low)*math.Erfc(u/math.Sqrt2)/2, logSlope
	case below && above:
		// 1/(1 + e⁻ᵘ) and its complement, each without cancellation.
		share, rest := 1/(1+math.Exp(-u)), 1/(1+math.Exp(u))
		return c.low + (c.high-c.low)*share, math.Log(c.high-c.low) + math.Log(share) + math.Log(rest)
	case below:
		return c.low + math.Exp(u), u
	case above:
		return c.high - math.Exp(u), u
	}
	return u, 0
}

// straighten returns u of x, NaN outside the support. An x that has been rounded to a bound
// is one of the u that are.
func (c *coordinate) straighten(x float64) float64 {
	u, beyond := x, 700.0 // whose exponential is next to 0 or infinity
	below, above := !math.IsInf(c.low, 0), !math.IsInf(c.high, 0)
	switch {
	case !(x >= c.low && x <= c.high):
		return math.NaN()
	case below && above && !c.logit:
		beyond = 37 // whose share is next to 0 or 1
		if share, rest := (x-c.low)/(c.high-c.low), (c.high-x)/(c.high-c.low); share < rest {
			u = mathext.NormalQuantile(share)
		} else {
			u = -mathext.NormalQuantile(rest)
		}
	case below && above:
		u = math.Log((x - c.low) / (c.high - x))
	case below:
		u = math.Log(x - c.low)
	case above:
		u = math.Log(c.high - x)
	}
	if c.bounded() {
		u = min(max(u, -beyond), beyond)
	}
	return u
}

// invert returns y of coordinate i of a state whose coordinates before it are y.
func (c *coordinate) invert(x float64, y []float32) float64 {
	return (c.straighten(x) - c.center - c.sheared(y)) / c.scale
}

// A chart is the coordinates of every mode, one of them where there are no modes.
type chart struct {
	dim     int
	maps    []coordinate // [modes][dim]
	volumes []float64    // of each mode, Σ ln s
	lines   bool         // all coordinates are u = c + s·y
}

func newChart(dim, modes int) *chart {
	c := &chart{dim: dim, maps: make([]coordinate, dim*modes), volumes: make([]float64, modes)}
	for i := range c.maps {
		inf := math.Inf(1)
		c.maps[i] = coordinate{scale: 1, low: -inf, high: inf, least: float32(-inf), most: float32(inf)}
	}
	return c
}

// coarsest is how many times the distance between states a scale must be.
const coarsest = 2

// spacing returns the distance of float32 numbers about x.
func spacing(x float64) float64 {
	near := float32(math.Abs(x))
	return float64(math.Nextafter32(near, math.MaxFloat32)) - float64(near)
}

// settle computes what follows from the maps.
func (c *chart) settle() {
	c.lines = true
	for i := range c.maps {
		m := &c.maps[i]
		m.free = !m.bounded()
		c.lines = c.lines && m.free && m.shear == nil
		c.volumes[i/c.dim] += math.Log(m.scale)
	}
}

func (c *chart) of(k []uint8, r int) []coordinate {
	mode := 0
	if k != nil {
		mode = int(k[r])
	}
	return c.maps[mode*c.dim:][:c.dim]
}

// place sets x to the states y, rounded to float32, and volume to ln |∂x/∂y| without
// the part that is the same for all.
func (c *chart) place(x []float32, volume []float64, y []float32, k []uint8) {
	for r := range volume {
		volume[r] = 0
		if k != nil {
			volume[r] = c.volumes[k[r]]
		}
		maps, row := c.of(k, r), y[r*c.dim:][:c.dim]
		if c.lines {
			to := x[r*c.dim:][:c.dim]
			for i, v := range row {
				to[i] = float32(maps[i].center + maps[i].scale*float64(v))
			}
			continue
		}
		for i := range maps {
			at, m := r*c.dim+i, &maps[i]
			u := m.line(row, i)
			if m.free {
				x[at] = float32(u)
				continue
			}
			v, slope := m.bend(u)
			x[at] = min(max(float32(v), m.least), m.most) // what rounds to a bound is the next number inside
			volume[r] += slope
		}
	}
}

// bounds sets those of coordinates: a pair for each, or one for all; nil stands for
// none. The link is how those with two lie on the line.
func (c *chart) bounds(support [][2]*float64, link string) error {
	if err := conf.OneOf("link", link, []string{"probit", "logit"}); err != nil {
		return err
	}
	if n := len(support); n != 0 && n != 1 && n != c.dim {
		return fmt.Errorf("support: %d pairs for %d coordinates; give one for each, or one for all", n, c.dim)
	}
	for i := range c.maps {
		if len(support) == 0 {
			continue
		}
		pair := support[i%c.dim%len(support)]
		m := &c.maps[i]
		m.logit = link == "logit"
		if pair[0] != nil {
			m.low = *pair[0]
		}
		if pair[1] != nil {
			m.high = *pair[1]
		}
		if !(m.low < m.high) {
			return fmt.Errorf("support[%d]: %v is not below %v", i%c.dim%len(support), m.low, m.high)
		}
		if pair[0] != nil {
			m.least = above(m.low)
		}
		if pair[1] != nil {
			m.most = -above(-m.high)
		}
		if m.least > m.most {
			return fmt.Errorf("support[%d]: states are float32, of which none is between %v and %v", i%c.dim%len(support), m.low, m.high)
		}
	}
	return nil
}

// above returns the least float32 that is more than low.
func above(low float64) float32 {
	x := float32(low)
	if float64(x) <= low {
		x = math.Nextafter32(x, float32(math.Inf(1)))
	}
	return x
}

// hint sets centre and scale of a mode's coordinates: one for each, or one for all; and the
// shear, a row for each but the first.
func (c *chart) hint(key string, mode int, center, scale []float64, shear [][]float64) error {
	for what, list := range map[string][]float64{"center": center, "scale": scale} {
		if n := len(list); n != 0 && n != 1 && n != c.dim {
			return fmt.Errorf("%s%s: %d numbers for %d coordinates; give one for each, or one for all", what, key, n, c.dim)
		}
	}
	for i := range c.dim {
		m := &c.maps[mode*c.dim+i]
		if len(center) > 0 {
			m.center = center[i%len(center)]
		}
		if !(math.Abs(m.center) <= 1e30) {
			return fmt.Errorf("center%s[%d]: %v is beyond 1e30", key, i%len(center), m.center)
		}
		if len(scale) == 0 {
			continue
		}
		m.scale = scale[i%len(scale)]
		if step := spacing(m.center); !m.bounded() && m.scale > 0 && m.scale < coarsest*step {
			return fmt.Errorf("scale%s[%d]: %v is too little about %v: states are float32, which are %.2g apart there; let the coordinate be the distance from %[4]v, and add that in ln π",
				key, i%len(scale), m.scale, m.center, step)
		}
		if !(m.scale >= 1e-30 && m.scale <= 1e30) {
			return fmt.Errorf("scale%s[%d]: %v is not between 1e-30 and 1e30", key, i%len(scale), m.scale)
		}
	}
	if n := len(shear); n != 0 && n != c.dim-1 {
		return fmt.Errorf("shear%s: %d rows for %d coordinates; give one for each but the first, or none", key, n, c.dim)
	}
	for r, row := range shear {
		if len(row) != r+1 {
			return fmt.Errorf("shear%s[%d]: %d numbers, and there are %d coordinates before the one that it is of", key, r, len(row), r+1)
		}
		m := &c.maps[mode*c.dim+r+1]
		for j, v := range row {
			if !(math.Abs(v) <= 1e30) {
				return fmt.Errorf("shear%s[%d][%d]: %v is beyond 1e30", key, r, j, v)
			}
			m.shear = append(m.shear, v*c.maps[mode*c.dim+j].scale)
		}
	}
	return nil
}

// ToTarget implements vectors.Chart.
func (p *problem) ToTarget(s vectors.States) (to vectors.States, volume []float64) {
	to, volume = vectors.States{Dim: s.Dim, X: make([]float32, len(s.X)), K: s.K}, make([]float64, s.Len())
	p.chart.place(to.X, volume, s.X, s.K)
	return to, volume
}

// ToLearned implements vectors.Chart. What the volume of the coordinates that are learned adds
// to ln π does not count as energy.
func (p *problem) ToLearned(s vectors.States) (energies []float64, err error) {
	energies = make([]float64, s.Len())
	for r := range energies {
		row := s.X[r*p.dim:][:p.dim]
		for i, m := range p.chart.of(s.K, r) {
			x := row[i]
			y := float32(m.invert(float64(x), row))
			if y-y != 0 {
				return nil, fmt.Errorf("states: coordinate %d of state %d is %v, outside the target's support", i, r, x)
			}
			row[i] = y
			_, slope := m.bend(m.line(row, i))
			energies[r] += slope
			if p.modes > 0 {
				energies[r] += math.Log(m.scale)
			}
		}
	}
	return energies, nil
}
