package worker

import (
	"os"
	"time"
)

// breathEvery is how long the network waits at most for passes that follow one another without a pause.
const breathEvery = 4 * time.Millisecond

// breath lets the network in. Go asks the network who is ready when a processor has nothing else to do, and else every 10 ms; passes that keep all
// processors would leave requests and readers to the latter. So their worker waits, now and then, for a byte that it has sent to itself through a
// pipe: the byte comes back by that very question, together with everyone else who was ready.
// The zero value takes none.
type breath struct {
	send *os.File      // nil: not opened
	back chan struct{} // one token per byte; closed when none comes any more
	last time.Time
}

// take lets the network in if it is time.
func (b *breath) take() {
	now := time.Now()
	if b.send == nil || now.Sub(b.last) < breathEvery {
		return
	}
	b.last = now
	if _, err := b.send.Write([]byte{0}); err == nil {
		<-b.back
	}
}

// open makes the pipe. Without one the network waits.
func (b *breath) open() {
	b.back = make(chan struct{})
	receive, send, err := os.Pipe()
	if err != nil {
		return
	}
	b.send = send
	go func() {
		defer close(b.back)
		defer func() { _ = receive.Close() }()
		var one [1]byte
		for {
			if n, err := receive.Read(one[:]); n == 0 || err != nil {
				return
			}
			b.back <- struct{}{}
		}
	}()
}

// end closes the pipe and waits for its reader.
func (b *breath) end() {
	if b.send != nil {
		_ = b.send.Close()
		<-b.back
	}
}
