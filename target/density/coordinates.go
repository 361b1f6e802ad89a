package density

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
)

// A coordinate is the map of coordinate i from a state y to x = f(u) in its support, where
// u = c + s·yᵢ + Σ_{j<i} aⱼ·yⱼ is on the line. f(u) is u without a bound, low + eᵘ or high − eᵘ
// with one bound, and low + (high − low)·F(u) with two. F is the normal distribution function,
// by which a density that is finite at the bounds has the tails of a Gaussian, or 1/(1 + e⁻ᵘ).
type coordinate struct {
	center, scale float64   // c and s
	low, high     float64   // bounds, infinite if there are none
	logit         bool      // F(u) = 1/(1 + e⁻ᵘ)
	unbounded     bool      // has no bound
	minX, maxX    float32   // least and largest number inside the bounds
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

// linear returns u of coordinate i of the state y.
func (c *coordinate) linear(y []float32, i int) float64 {
	return c.center + c.sheared(y) + c.scale*float64(y[i])
}

// toSupport returns x = f(u) and ln |df/du|.
func (c *coordinate) toSupport(u float64) (x, logSlope float64) {
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
		share, complement := 1/(1+math.Exp(-u)), 1/(1+math.Exp(u))
		return c.low + (c.high-c.low)*share, math.Log(c.high-c.low) + math.Log(share) + math.Log(complement)
	case below:
		return c.low + math.Exp(u), u
	case above:
		return c.high - math.Exp(u), u
	}
	return u, 0
}

// fromSupport returns u of x, NaN outside the support. At a bound, to which many u round, it
// returns one of them.
func (c *coordinate) fromSupport(x float64) float64 {
	u, maxU := x, 700.0 // eᵘ is next to 0 or infinity there
	below, above := !math.IsInf(c.low, 0), !math.IsInf(c.high, 0)
	switch {
	case !(x >= c.low && x <= c.high):
		return math.NaN()
	case below && above && !c.logit:
		maxU = 37 // F(u) is next to 0 or 1 there
		if share, complement := (x-c.low)/(c.high-c.low), (c.high-x)/(c.high-c.low); share < complement {
			u = mathext.NormalQuantile(share)
		} else {
			u = -mathext.NormalQuantile(complement)
		}
	case below && above:
		u = math.Log((x - c.low) / (c.high - x))
	case below:
		u = math.Log(x - c.low)
	case above:
		u = math.Log(c.high - x)
	}
	if c.bounded() {
		u = min(max(u, -maxU), maxU)
	}
	return u
}

// invert returns y of coordinate i of a state whose coordinates before it are y.
func (c *coordinate) invert(x float64, y []float32) float64 {
	return (c.fromSupport(x) - c.center - c.sheared(y)) / c.scale
}

// A chart is the coordinates of every mode. It has one mode where the target has none.
type chart struct {
	dim      int
	maps     []coordinate // [modes][dim]
	volumes  []float64    // Σ ln s of each mode
	diagonal bool         // x = c + s·y in all coordinates
}

func newChart(dim, modes int) *chart {
	c := &chart{dim: dim, maps: make([]coordinate, dim*modes), volumes: make([]float64, modes)}
	for i := range c.maps {
		inf := math.Inf(1)
		c.maps[i] = coordinate{scale: 1, low: -inf, high: inf, minX: float32(-inf), maxX: float32(inf)}
	}
	return c
}

// minScaleSpacings is the least scale, in distances between float32 numbers.
const minScaleSpacings = 2

// spacing returns the distance of float32 numbers about x.
func spacing(x float64) float64 {
	magnitude := float32(math.Abs(x))
	return float64(math.Nextafter32(magnitude, math.MaxFloat32)) - float64(magnitude)
}

// derive sets the fields that follow from centers, scales and bounds.
func (c *chart) derive() {
	c.diagonal = true
	for i := range c.maps {
		m := &c.maps[i]
		m.unbounded = !m.bounded()
		c.diagonal = c.diagonal && m.unbounded && m.shear == nil
		c.volumes[i/c.dim] += math.Log(m.scale)
	}
}

func (c *chart) coordinates(k []uint8, r int) []coordinate {
	mode := 0
	if k != nil {
		mode = int(k[r])
	}
	return c.maps[mode*c.dim:][:c.dim]
}

// toTarget sets x to the states y in the target's coordinates, rounded to float32, and volume
// to ln |∂x/∂y| without the part that is the same for all states.
func (c *chart) toTarget(x []float32, volume []float64, y []float32, k []uint8) {
	for r := range volume {
		volume[r] = 0
		if k != nil {
			volume[r] = c.volumes[k[r]]
		}
		maps, row := c.coordinates(k, r), y[r*c.dim:][:c.dim]
		if c.diagonal {
			dst := x[r*c.dim:][:c.dim]
			for i, v := range row {
				dst[i] = float32(maps[i].center + maps[i].scale*float64(v))
			}
			continue
		}
		for i := range maps {
			j, m := r*c.dim+i, &maps[i]
			u := m.linear(row, i)
			if m.unbounded {
				x[j] = float32(u)
				continue
			}
			v, slope := m.toSupport(u)
			x[j] = min(max(float32(v), m.minX), m.maxX) // a number that rounds to a bound moves inside
			volume[r] += slope
		}
	}
}

// setBounds sets the bounds of coordinates: a pair for each, or one for all; nil stands for
// no bound. The link is F of coordinates with two bounds.
func (c *chart) setBounds(support [][2]*float64, link string) error {
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
			m.minX = nextAbove(m.low)
		}
		if pair[1] != nil {
			m.maxX = -nextAbove(-m.high)
		}
		if m.minX > m.maxX {
			return fmt.Errorf("support[%d]: states are float32, of which none is between %v and %v", i%c.dim%len(support), m.low, m.high)
		}
	}
	return nil
}

// nextAbove returns the least float32 that is more than low.
func nextAbove(low float64) float32 {
	x := float32(low)
	if float64(x) <= low {
		x = math.Nextafter32(x, float32(math.Inf(1)))
	}
	return x
}

// setHints sets centre and scale of a mode's coordinates, one for each or one for all, and the
// shear, a row for each but the first. Errors name the mode by key, "[k]" or "".
func (c *chart) setHints(key string, mode int, center, scale []float64, shear [][]float64) error {
	for i, list := range [][]float64{center, scale} {
		if n := len(list); n != 0 && n != 1 && n != c.dim {
			return fmt.Errorf("%s%s: %d numbers for %d coordinates; give one for each, or one for all", []string{"center", "scale"}[i], key, n, c.dim)
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
		if step := spacing(m.center); !m.bounded() && m.scale > 0 && m.scale < minScaleSpacings*step {
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
	p.chart.toTarget(to.X, volume, s.X, s.K)
	return to, volume
}

// ToLearned implements vectors.Chart. The energies that it returns cancel ln |∂x/∂y|, which −ln π
// of learned coordinates contains.
func (p *problem) ToLearned(s vectors.States) (energies []float64, err error) {
	energies = make([]float64, s.Len())
	for r := range energies {
		row := s.X[r*p.dim:][:p.dim]
		for i, m := range p.chart.coordinates(s.K, r) {
			x := row[i]
			y := float32(m.invert(float64(x), row))
			if y-y != 0 {
				return nil, fmt.Errorf("states: coordinate %d of state %d is %v, outside the target's support", i, r, x)
			}
			row[i] = y
			_, slope := m.toSupport(m.linear(row, i))
			energies[r] += slope
			if p.modes > 0 {
				energies[r] += math.Log(m.scale)
			}
		}
	}
	return energies, nil
}
