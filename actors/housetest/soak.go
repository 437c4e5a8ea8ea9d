package housetest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Soak is how long a random run goes on and from which seed. `make soak` sets FLASHLANE_SOAK (a duration), and then the seed
// is a fresh one; FLASHLANE_SEED replays a run. long says that it is a soak.
func Soak(t *testing.T, short time.Duration, fixed uint64) (length time.Duration, seed uint64, long bool) {
	t.Helper()
	length, seed = short, fixed
	if s := os.Getenv("FLASHLANE_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("FLASHLANE_SOAK: %v", err)
		}
		length, seed, long = d, rand.Uint64(), true
	}
	if s := os.Getenv("FLASHLANE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("FLASHLANE_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("seed %d: replay with FLASHLANE_SEED=%d", seed, seed)
	return length, seed, long
}
