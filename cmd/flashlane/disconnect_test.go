package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// wireRequest is a POST as it goes over the wire, asking for the connection to be closed after the answer.
func wireRequest(t *testing.T, path string, body object) []byte {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(raw), raw)
}

// leave sends the first sent bytes of a request, reads up to read bytes of what comes back and goes: by FIN, or by RST if
// abrupt. It returns what it read.
func leave(address string, request []byte, sent, read int, abrupt bool) ([]byte, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	if abrupt {
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			return nil, err
		}
	}
	if _, err := c.Write(request[:sent]); err != nil || sent < len(request) {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(c, int64(read)))
}

// openFiles counts the files and sockets of the server; false where the system does not tell.
func (s *served) openFiles() (int, bool) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	return len(entries), runtime.GOOS == "linux" && err == nil
}

// TestDisconnectAtAnyByte: clients go at every kind of place, in the request line, a header, the body, before the answer
// and inside it, on every route that generates. Who stays has its bytes, and nothing is held for those who left.
func TestDisconnectAtAnyByte(t *testing.T) {
	s := startServe(t, "--max-active", "3")
	address := strings.TrimPrefix(s.url, "http://")
	stays := question(trimSpace, object{"seed": 7, "temperature": 1})
	want := s.ask(t, stays)
	files, counted := s.openFiles()

	say := []object{{"role": "user", "content": trimSpace}}
	requests := [][]byte{
		wireRequest(t, "/v1/chat/completions", object{"messages": say, "stream": true}),
		wireRequest(t, "/v1/chat/completions", object{"messages": say}),
		wireRequest(t, "/v1/completions", object{"prompt": trimSpace, "stream": true, "max_tokens": 60}),
		wireRequest(t, "/v1/messages", object{"messages": say, "stream": true, "max_tokens": 60}),
		wireRequest(t, "/v1/responses", object{"input": trimSpace, "stream": true}),
	}
	const seed, leavers, visits = 20261129, 4, 40
	var wg sync.WaitGroup
	for worker := range leavers {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		wg.Go(func() {
			inside := 0
			for range visits {
				r := requests[rng.IntN(len(requests))]
				sent, read := len(r), 0
				switch rng.IntN(4) {
				case 0:
					sent = rng.IntN(len(r))
				case 1: // as soon as it has asked
				default:
					read = 1 + rng.IntN(4000)
				}
				got, err := leave(address, r, sent, read, rng.IntN(2) == 0)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				const ok = "HTTP/1.1 200 "
				if n := min(len(got), len(ok)); string(got[:n]) != ok[:n] {
					t.Errorf("seed %d: answer %q, want %s", seed, got, ok)
				}
				if len(got) > len(ok) {
					inside++
				}
			}
			if inside < visits/4 {
				t.Errorf("seed %d: %d of %d clients left inside an answer: too few to prove anything", seed, inside, visits)
			}
		})
	}
	for range 5 {
		if got := s.ask(t, stays); got.Flashlane.Tokens != want.Flashlane.Tokens {
			t.Errorf("an answer beside those who leave: tokens %s, want %s", got.Flashlane.Tokens, want.Flashlane.Tokens)
		}
	}
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()

	s.settled(t, files, counted)
	if got := s.ask(t, stays); got.Flashlane.Tokens != want.Flashlane.Tokens {
		t.Errorf("after it: tokens %s, want %s", got.Flashlane.Tokens, want.Flashlane.Tokens)
	}
}
