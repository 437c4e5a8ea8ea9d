package cpu

import "github.com/flashlane/flashlane/metal"

// Gain sets c = 2*sigmoid(c*scale) in place, spec 2.2. c has a handful of columns, so it is never split.
func (s *stream) Gain(c metal.Mat, scale float32) {
	m := matOf(c)
	for r := range m.rows {
		row := m.row(r)
		for i, v := range row {
			row[i] = 2 * sigmoid(float32(v*scale))
		}
	}
}
