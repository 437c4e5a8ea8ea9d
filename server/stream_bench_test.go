package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
)

// BenchmarkChunks is what the HTTP layer adds to a chunk, over loopback with the client's reading included: one op is one
// chunk on each of the streams.
func BenchmarkChunks(b *testing.B) {
	for _, streams := range []int{1, 8} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			e := newFake()
			n := b.N
			e.script = func(r *intake.Request, out *intake.Output) {
				out.Push(intake.Event{Kind: intake.Accepted})
				go func() {
					for range n {
						out.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.Content, Text: "some words"}}})
					}
					out.Push(intake.Event{Kind: intake.Done, Report: reportOf(r)})
				}()
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			served := make(chan error, 1)
			s := testServer(b, e, Options{})
			go func() { served <- s.Serve(ctx, ln) }()
			b.ResetTimer()
			var all sync.WaitGroup
			for range streams {
				all.Go(func() {
					resp, err := http.Post("http://"+ln.Addr().String()+"/v1/chat/completions", "application/json", strings.NewReader(chatHiStream))
					if err != nil {
						b.Error(err)
						return
					}
					defer resp.Body.Close()
					if _, err := io.Copy(io.Discard, resp.Body); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*streams), "ns/chunk")
			cancel()
			if err := <-served; err != nil {
				b.Error(err)
			}
		})
	}
}
