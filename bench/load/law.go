package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Law is a distribution of lengths in tokens. The zero Law is not valid; Fixed and ParseLaw make one.
type Law struct {
	Kind   string  // fixed, uniform, lognormal
	Low    int     // fixed: the length; uniform: from
	High   int     // uniform: to, inclusive; lognormal: lengths above are cut to it
	Median float64 // lognormal
	Sigma  float64 // lognormal: of the logarithm
}

// Fixed is always n.
func Fixed(n int) Law { return Law{Kind: "fixed", Low: n, High: n} }

// ParseLaw reads "512", "fixed:512", "uniform:64-512" or "lognormal:MEDIAN,SIGMA,MOST".
func ParseLaw(s string) (Law, error) {
	wrong := fmt.Errorf("load: length law %q: want N, uniform:FROM-TO or lognormal:MEDIAN,SIGMA,MOST in tokens", s)
	kind, rest, named := strings.Cut(s, ":")
	if !named {
		kind, rest = "fixed", s
	}
	switch kind {
	case "fixed":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return Law{}, wrong
		}
		return Fixed(n), nil
	case "uniform":
		from, to, _ := strings.Cut(rest, "-")
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || low < 1 || high < low {
			return Law{}, wrong
		}
		return Law{Kind: kind, Low: low, High: high}, nil
	case "lognormal":
		parts := strings.Split(rest, ",")
		if len(parts) != 3 {
			return Law{}, wrong
		}
		median, err1 := strconv.ParseFloat(parts[0], 64)
		sigma, err2 := strconv.ParseFloat(parts[1], 64)
		most, err3 := strconv.Atoi(parts[2])
		if err1 != nil || err2 != nil || err3 != nil || !(median >= 1) || !(sigma >= 0) || sigma > 10 || float64(most) < median {
			return Law{}, wrong
		}
		return Law{Kind: kind, Low: 1, High: most, Median: median, Sigma: sigma}, nil
	}
	return Law{}, wrong
}

// Draw takes a length, Low to High.
func (l Law) Draw(r *rand.Rand) int {
	switch l.Kind {
	case "uniform":
		return l.Low + r.IntN(l.High-l.Low+1)
	case "lognormal":
		x := math.Round(l.Median * math.Exp(l.Sigma*r.NormFloat64()))
		return int(min(max(x, float64(l.Low)), float64(l.High)))
	}
	return l.Low
}

// String is the form that ParseLaw reads.
func (l Law) String() string {
	switch l.Kind {
	case "uniform":
		return fmt.Sprintf("uniform:%d-%d", l.Low, l.High)
	case "lognormal":
		return fmt.Sprintf("lognormal:%v,%v,%d", l.Median, l.Sigma, l.High)
	}
	return strconv.Itoa(l.Low)
}
