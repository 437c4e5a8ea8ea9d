package actors

import "testing"

func TestStall(t *testing.T) {
	moving := func(i int) odometer { return odometer{running: true, counts: [8]uint64{0, uint64(i)}} }
	stuck := odometer{running: true, counts: [8]uint64{3, 40}}
	idle := odometer{counts: [8]uint64{3, 40}}
	cases := []struct {
		name string
		read func(i int) odometer
		want int // the look that makes a stall, 0: never
	}{
		{"work that moves slowly", func(i int) odometer { return moving(i / (stallTicks - 1)) }, 0},
		{"nothing to do", func(int) odometer { return idle }, 0},
		{"stuck", func(int) odometer { return stuck }, stallTicks + 1},
		{"stuck after a while", func(i int) odometer { return moving(min(i, 50)) }, 50 + stallTicks},
	}
	for _, c := range cases {
		var s stall
		got := 0
		for i := 1; i <= 200 && got == 0; i++ {
			if s.look(c.read(i)) {
				got = i
			}
		}
		if got != c.want {
			t.Errorf("%s: stall at look %d, want %d", c.name, got, c.want)
		}
	}
}
