package sample

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// ulps is the distance between two floats of one sign, counted in floats.
func ulps(a, b float64) int64 {
	d := int64(math.Float64bits(a)) - int64(math.Float64bits(b))
	return max(d, -d)
}

func TestRootsAreCorrectlyRounded(t *testing.T) {
	root := big.NewFloat(2).SetPrec(200)
	for range 5 {
		root.Sqrt(root)
	}
	power := big.NewFloat(1).SetPrec(200)
	for j, got := range roots {
		if want, _ := power.Float64(); got != want {
			t.Errorf("roots[%d] = %x, want %x", j, got, want)
		}
		power.Mul(power, root)
	}
}

// math.Log and math.Exp are themselves within 1 unit in the last place; hence one more than our own bounds.
func TestLogExpAgreeWithMath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	logs := []float64{1, 0x1p-53, 1 - 0x1p-53, 1 + 0x1p-52, 0.5, 2, math.Sqrt2, math.Nextafter(math.Sqrt2, 0), math.E, 36.7, math.MaxFloat64}
	exps := []float64{0, -0x1p-60, -0.5, -1, -math.Ln2, -math.Ln2 / 64, -29, -300, -708}
	for range 200000 {
		logs = append(logs, r.Float64(), 1-r.Float64()*1e-6, r.Float64()*40, math.Exp(r.Float64()*1400-700))
		exps = append(exps, -r.Float64(), -r.Float64()*40, -r.Float64()*708)
	}
	for _, x := range logs {
		if x == 0 {
			continue
		}
		if got, want := log(x), math.Log(x); ulps(got, want) > 3 && got != want {
			t.Fatalf("log(%x) = %x, want %x within 3 ulp", x, got, want)
		}
	}
	for _, x := range exps {
		if got, want := exp(x), math.Exp(x); ulps(got, want) > 2 {
			t.Fatalf("exp(%x) = %x, want %x within 2 ulp", x, got, want)
		}
	}
	// math.Log's assembly takes subnormals for bigger numbers, so this one is from mathematics: log 2^-1074.
	if got, want := log(5e-324), -1074*math.Ln2; ulps(got, want) > 3 {
		t.Errorf("log(5e-324) = %v, want %v", got, want)
	}
	if got := exp(math.Inf(-1)); got != 0 {
		t.Errorf("exp(-Inf) = %v, want 0", got)
	}
	if got := exp(-709); got != 0 {
		t.Errorf("exp(-709) = %v, want 0", got)
	}
}

// TestBitsAreTheSameEverywhere pins last bits: made on amd64; a CPU, compiler or GOAMD64 level that fuses or reorders fails here.
func TestBitsAreTheSameEverywhere(t *testing.T) {
	hash := func(f func(float64) float64, lo, hi float64) uint64 {
		h := uint64(14695981039346656037) // FNV-1a over the results' words
		for i := range 100000 {
			x := lo + float64((hi-lo)*(float64(i)/100000))
			h = (h ^ math.Float64bits(f(x))) * 1099511628211
		}
		return h
	}
	n := Noise{Seed: 0x0123456789abcdef, Choice: 3}
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"log near 0", hash(log, 1e-9, 1), goldenLogLow},
		{"log", hash(log, 0.5, 40), goldenLog},
		{"exp", hash(exp, -50, 0), goldenExp},
		{"gumbel", hash(func(x float64) float64 { return n.Gumbel(int(x), int32(x*7)) }, 0, 1e5), goldenGumbel},
		{"uniform", hash(func(x float64) float64 { return n.Uniform(DomainAccept, int(x)) }, 0, 1e5), goldenUniform},
	} {
		if c.got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

const (
	goldenLogLow  = 0x749722584a3bca84
	goldenLog     = 0x57ed772134ba7442
	goldenExp     = 0xc79adc709ce75c46
	goldenGumbel  = 0x3e96a3479abb45ba
	goldenUniform = 0xe44fa0a324156655
)
