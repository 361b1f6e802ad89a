package draw

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
)

// A normalizer places values on an axis. A logarithmic scale puts values below its lower end there.
type normalizer struct{ figure.Axis }

// Normalize implements plot.Normalizer.
func (n normalizer) Normalize(low, high, x float64) float64 {
	if n.Scale == figure.Log {
		low, high, x = math.Log(low), math.Log(high), math.Log(math.Max(x, low))
	}
	return (x - low) / (high - low)
}

// A ticker marks round values.
type ticker struct{ figure.Axis }

// Ticks implements plot.Ticker.
func (t ticker) Ticks(low, high float64) []plot.Tick {
	if t.Axis.Ticks != nil {
		return lists.Map(t.Axis.Ticks, func(v float64) plot.Tick { return plot.Tick{Value: v, Label: number(v)} })
	}
	if t.Scale == figure.Log {
		return logTicks(low, high)
	}
	return linearTicks(low, high)
}

// linearTicks marks at most maxSteps steps of 1, 2 or 5 times a power of ten, all with the same number
// of decimals. Large numbers, and small ones of few digits, are written in powers of ten.
func linearTicks(low, high float64) []plot.Tick {
	const maxSteps = 5
	minStep := (high - low) / maxSteps
	if !(minStep > 0) {
		return nil
	}
	step := math.Pow(10, math.Ceil(math.Log10(minStep)))
	for _, divisor := range []float64{5, 2} {
		if step/divisor >= minStep {
			step /= divisor
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	largest := math.Max(-low, high)
	decimal := largest < maxDecimal && (decimals <= 3 || largest > 1000*step)
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		label := scientific(i * step)
		if i != 0 && decimal {
			label = strings.ReplaceAll(strconv.FormatFloat(i*step, 'f', decimals, 64), "-", "−")
		}
		ticks = append(ticks, plot.Tick{Value: i * step, Label: label})
	}
	return ticks
}

// logTicks marks and labels the powers of ten. Below 6 decades it marks their multiples too, and up
// to 1.7 decades it labels those by 2 and 5. From 6 decades on it labels only every second, third, …
// power. A range of less than 0.7 decades has the ticks of a linear axis.
func logTicks(low, high float64) []plot.Tick {
	if !(low > 0 && high > low) {
		return nil
	}
	var ticks []plot.Tick
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	decades := math.Log10(high / low)
	if decades < 0.7 {
		return linearTicks(low, high)
	}
	labelEvery := 1 + int(decades/6)
	for e := first; e <= last; e++ {
		power := math.Pow(10, float64(e))
		for m := 1.0; m < 10; m++ {
			v := m * power
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			switch {
			case decades <= 1.7 && (m == 1 || m == 2 || m == 5):
				tick.Label = number(v)
			case m == 1 && e%labelEvery == 0:
				tick.Label = power10(e)
			case m > 1 && labelEvery > 1:
				continue
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

func power10(e int) string {
	switch {
	case e == 0:
		return "1"
	case e == 1:
		return "10"
	}
	return "10^{" + strings.ReplaceAll(strconv.Itoa(e), "-", "−") + "}"
}

// maxDecimal is the number from which on powers of ten are written.
const maxDecimal = 1e6

// number writes a tick's value with a minus sign, as a power of ten if it would have many digits.
func number(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-3 || a >= maxDecimal) {
		return scientific(x)
	}
	return strings.ReplaceAll(strconv.FormatFloat(round10(x), 'f', -1, 64), "-", "−")
}

// scientific writes x as a multiple of a power of ten.
func scientific(x float64) string {
	x = round10(x)
	switch {
	case x == 0:
		return "0"
	case x < 0:
		return "−" + scientific(-x)
	}
	e := math.Floor(math.Log10(x) + 1e-12)
	mantissa := strconv.FormatFloat(x/math.Pow(10, e), 'g', 4, 64)
	if mantissa == "10" { // 9.9999…, to four digits
		mantissa, e = "1", e+1
	}
	switch {
	case mantissa == "1":
		return power10(int(e))
	case e == 0:
		return mantissa
	}
	return mantissa + "·" + power10(int(e))
}

// round10 rounds to ten digits, which removes the rounding errors of sums of steps.
func round10(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64)
	return y + 0 // no negative zero
}
