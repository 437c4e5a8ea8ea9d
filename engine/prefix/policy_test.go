package prefix

import "testing"

func TestPolicy(t *testing.T) {
	p := Policy{Every: 512, Decode: 1000, Least: 64}
	for _, c := range []struct {
		name             string
		p                Policy
		from, to, prompt int
		ended            bool
		want             bool
	}{
		{"chunk inside", p, 0, 256, 2000, false, false},
		{"chunk at a multiple", p, 256, 512, 2000, false, true},
		{"chunk past a multiple", p, 384, 640, 2000, false, true},
		{"chunk before the next", p, 640, 896, 2000, false, false},
		{"end of the prompt", p, 1792, 2000, 2000, false, true},
		{"first round", p, 2000, 2003, 2000, false, false}, // the multiple was the prompt's end
		{"round", p, 2003, 2007, 2000, false, false},
		{"round over a multiple", p, 2998, 3001, 2000, false, true},
		{"round on a multiple", p, 2997, 3000, 2000, false, true},
		{"round after it", p, 3000, 3003, 2000, false, false},
		{"end of the turn", p, 2103, 2104, 2000, true, true},
		{"end of the turn with nothing new", p, 2104, 2104, 2000, true, false},
		{"short", p, 0, 63, 63, true, false},
		{"just long enough", p, 0, 64, 64, false, true},
		{"no policy inside", Policy{}, 0, 512, 2000, false, false},
		{"no policy in decode", Policy{}, 2000, 4000, 2000, false, false},
		{"no policy at the prompt's end", Policy{}, 0, 1, 1, false, true},
		{"no policy at the end", Policy{}, 5, 6, 1, true, true},
		{"nothing", Policy{}, 0, 0, 0, true, false},
	} {
		if got := c.p.Due(c.from, c.to, c.prompt, c.ended); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
