package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// quotas hold each key to so many generations a minute and at once. Keys do not share anything: one that is used up is
// no other's loss.
type quotas struct {
	perMinute  int // 0: no limit
	concurrent int // 0: no limit
	now        func() time.Time

	mu   sync.Mutex
	keys map[string]*quota
}

// quota is one key's account.
type quota struct {
	left    float64 // requests that may begin now; a minute's worth may be saved up
	at      time.Time
	running []time.Time // when the requests at work began
	mean    float64     // seconds of its past requests, moving; 0 before the first
}

func newQuotas(perMinute, concurrent int) *quotas {
	return &quotas{perMinute: perMinute, concurrent: concurrent, now: time.Now, keys: map[string]*quota{}}
}

// enter begins a request of a key. It returns what ends it, or the refusal, with how long to wait: until the rate gives
// one more request, or until the oldest of those at work ends if it is as long as they usually are.
func (q *quotas) enter(key string) (leave func(), err *apiError) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	k := q.keys[key]
	if k == nil {
		k = &quota{left: float64(q.perMinute), at: now}
		q.keys[key] = k
	}
	perSecond := float64(q.perMinute) / 60
	k.left = min(k.left+now.Sub(k.at).Seconds()*perSecond, float64(q.perMinute))
	k.at = now
	if q.concurrent > 0 && len(k.running) >= q.concurrent {
		err = refuse(http.StatusTooManyRequests, typeBusy, "concurrency_limit", "", "this key has %d requests at work, and may have %d", len(k.running), q.concurrent)
		err.retryAfter = wait(k.mean - now.Sub(k.running[0]).Seconds())
		return nil, err
	}
	if q.perMinute > 0 {
		if k.left < 1 {
			err = refuse(http.StatusTooManyRequests, typeBusy, "rate_limit", "", "this key may begin %d requests a minute", q.perMinute)
			err.retryAfter = wait((1 - k.left) / perSecond)
			return nil, err
		}
		k.left--
	}
	k.running = append(k.running, now)
	return func() { q.leave(k, now) }, nil
}

// leave ends the request that began at begin.
func (q *quotas) leave(k *quota, begin time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, at := range k.running {
		if at.Equal(begin) {
			k.running = append(k.running[:i], k.running[i+1:]...)
			break
		}
	}
	took := q.now().Sub(begin).Seconds()
	if k.mean == 0 {
		k.mean = took
	}
	k.mean += (took - k.mean) / 5
}

// limited holds a generation route to the quota of the key that was presented.
func (q *quotas) limited(next echo.HandlerFunc) echo.HandlerFunc {
	if q.perMinute == 0 && q.concurrent == 0 {
		return next
	}
	return func(c echo.Context) error {
		key, _ := c.Get(keyNameKey).(string)
		leave, refusal := q.enter(key)
		if refusal != nil {
			return refusal
		}
		defer leave()
		return next(c)
	}
}
