package sample

import "math/bits"

// Domain keeps the uses of randomness apart: the same seed, position and id give independent words in different domains.
type Domain uint32

const (
	// DomainGumbel is the noise of step 9, one variate per position and id.
	DomainGumbel Domain = iota
	// DomainAccept is the uniform against which rule residual holds p/q, one per position.
	DomainAccept
	// DomainPick is the uniform with which rule residual draws from a distribution, one per position.
	DomainPick
)

// Noise is the source of all randomness of one choice of one request. It is a value without state: any goroutine may use it in any order.
//
// Bit layout, fixed for ever because saved seeds replay from it: Philox4x32-10 with
//
//	key     word 0: seed bits 0..31     word 1: seed bits 32..63
//	counter word 0: position            word 1: vocabulary id (0 where no id is meant)
//	        word 2: choice              word 3: domain
//
// The choice sits in the counter because the seed fills the key; to a bijection both are equally good. Of the four output words w0..w3, b = (w1<<32 | w0) >> 12 are
// 52 bits, and u = (2b+1) / 2^53 is uniform, exact in float64 and never 0 or 1.
type Noise struct {
	Seed   uint64
	Choice uint32
}

// bits52 returns the 52 random bits of a counter.
func (n Noise) bits52(d Domain, pos, id uint32) uint64 {
	w0, w1, _, _ := philox(pos, id, n.Choice, uint32(d), uint32(n.Seed), uint32(n.Seed>>32))
	return (uint64(w1)<<32 | uint64(w0)) >> 12
}

// unit maps 52 bits to the middle of their cell of the open interval (0, 1). 2b+1 < 2^53, so both steps are exact.
func unit(b uint64) float64 { return float64(2*b+1) * 0x1p-53 }

// Uniform returns the uniform of position pos in domain d, strictly inside (0, 1). It has 52 bits.
func (n Noise) Uniform(d Domain, pos int) float64 { return unit(n.bits52(d, uint32(pos), 0)) }

// Gumbel returns G(seed, pos, id) = -log(-log(u)) in float64, between -3.61 and 36.74.
func (n Noise) Gumbel(pos int, id int32) float64 {
	return gumbel(n.bits52(DomainGumbel, uint32(pos), uint32(id)))
}

func gumbel(b uint64) float64 { return -log(-log(unit(b))) }

// ceilings[l] is an upper bound of gumbel(b) for all b whose complement c = 2^52-1-b has bit length l.
//
// Proof: u = (2b+1)/2^53 gives 1-u = (2c+1)/2^53. Bit length l means c >= 2^(l-1) for l >= 1, so 1-u > 2^l/2^53, and for l = 0 1-u = 2^-53: in both cases
// 1-u >= 2^(l-53). Since -log(u) >= 1-u, G = -log(-log u) <= (53-l) ln 2. The two logarithms are each within a few units
// in the last place and |G| < 37, so the computed G exceeds the true one by less than 1e-12; ceilingSlack covers it.
var ceilings = func() (t [53]float64) {
	for l := range t {
		t[l] = float64(float64(53-l)*(ln2Hi+ln2Lo)) + ceilingSlack
	}
	return t
}()

const ceilingSlack = 1e-9

// ceiling is the upper bound of gumbel(b) for b's leading bits: one table look-up instead of two logarithms.
func ceiling(b uint64) float64 { return ceilings[bits.Len64(1<<52-1-b)] }

// ceilingAll bounds gumbel(b) for every b.
func ceilingAll() float64 { return ceilings[0] }
