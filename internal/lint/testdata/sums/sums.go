// Package sums holds what lint must find, on lines that say so, and what it must
// not.
package sums

import "maps"

type energy float64

type total struct {
	sum   float32
	parts [2]complex128
}

var all float64

func found(m map[string]float64, n map[int]energy) (result energy) {
	sum, t, product := 0.0, &total{}, 1.0
	for _, v := range m {
		sum += v              // found
		t.sum -= float32(v)   // found
		t.parts[1] += 1i      // found
		product = product * v // found
		sum = v + (sum + 1)   // found
		all /= v              // found
		for range 3 {
			if v > 0 {
				func() { sum *= v }() // found
			}
		}
	}
	for _, v := range n {
		result += v // found
	}
	for v := range maps.Values(m) {
		sum += v // found
	}
	for k, v := range maps.All(n) {
		t.parts[k] += complex(float64(v), 0)
		result += v // found
	}
	return result + energy(sum*product)
}

func allowed(m map[string]float64, slice []float64) (count int) {
	var sum, largest float64
	doubled := map[string]float64{}
	for k, v := range m {
		count += len(k)
		largest = max(largest, v)
		doubled[k] += 2 * v
		part := 0.0
		for _, x := range slice {
			part += x * v
		}
		m[k] = part + 1
		sum = v
	}
	for _, v := range slice {
		sum += v
	}
	return count + int(sum+largest)
}
