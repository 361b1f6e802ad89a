package nn

// Forward64 returns the output for the input x, in float64. It is the specification of Forward,
// and central differences of it check gradients.
func (m *MLP) Forward64(params, x []float64) []float64 {
	for l := range m.Layers() {
		in, out := m.sizes[l], m.sizes[l+1]
		w := params[m.offsets[l]:]
		y := append([]float64(nil), w[in*out:][:out]...)
		for i, xi := range x {
			for o := range y {
				y[o] += xi * w[i*out+o]
			}
		}
		if l < m.Layers()-1 {
			for o, v := range y {
				if v < 0 {
					y[o] = v * float64(m.slope)
				}
			}
		}
		x = y
	}
	return x
}
