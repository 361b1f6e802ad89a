package draw

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
)

// normalizer places values on an axis. A logarithmic scale takes what is not
// positive as its lower end.
type normalizer struct{ figure.Axis }

// Normalize implements plot.Normalizer.
func (n normalizer) Normalize(low, high, x float64) float64 {
	if n.Scale == figure.Log {
		low, high, x = math.Log(low), math.Log(high), math.Log(math.Max(x, low))
	}
	return (x - low) / (high - low)
}

// ticker marks round values.
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

// linearTicks marks at most five steps of 1, 2 or 5 times a power of ten, all with the
// same number of decimals. Large numbers, and small ones of few digits, are written in
// powers of ten.
func linearTicks(low, high float64) []plot.Tick {
	const most = 5
	raw := (high - low) / most
	if !(raw > 0) {
		return nil
	}
	step := math.Pow(10, math.Ceil(math.Log10(raw)))
	for _, divisor := range []float64{5, 2} {
		if step/divisor >= raw {
			step /= divisor
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	largest := math.Max(-low, high)
	plain := largest < manyDigits && (decimals <= 3 || largest > 1000*step)
	var all []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		label := scientific(i * step)
		if i != 0 && plain {
			label = strings.ReplaceAll(strconv.FormatFloat(i*step, 'f', decimals, 64), "-", "−")
		}
		all = append(all, plot.Tick{Value: i * step, Label: label})
	}
	return all
}

// logTicks marks the powers of ten, every second or third of them where there
// are many; their multiples by 2 and 5 too where there are few, and round
// values where there is none.
func logTicks(low, high float64) []plot.Tick {
	if !(low > 0 && high > low) {
		return nil
	}
	var all []plot.Tick
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	decades := math.Log10(high / low)
	if decades < 0.7 {
		return linearTicks(low, high)
	}
	every := 1 + int(decades/6)
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
			case m == 1 && e%every == 0:
				tick.Label = power10(e)
			case m > 1 && every > 1:
				continue
			}
			all = append(all, tick)
		}
	}
	return all
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

// manyDigits is where numbers are written as powers of ten.
const manyDigits = 1e6

// number writes a tick's value, with a minus sign and a power of ten where
// digits would be many.
func number(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-3 || a >= manyDigits) {
		return scientific(x)
	}
	return strings.ReplaceAll(strconv.FormatFloat(rounded(x), 'f', -1, 64), "-", "−")
}

func scientific(x float64) string {
	x = rounded(x)
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

// rounded removes what sums of rounded steps leave in the last digits.
func rounded(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64)
	return y + 0 // no negative zero
}
