package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is the flashlane under test.
type server struct {
	url string
	cmd *exec.Cmd
	log *journal
}

var flash *server

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	bin := os.Getenv("FLASHLANE_BIN")
	if bin == "" {
		dir, err := os.MkdirTemp("", "flashlane-e2e")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		bin = filepath.Join(dir, "flashlane")
		build := exec.Command("go", "build", "-o", bin, "./cmd/flashlane")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("building flashlane: %w\n%s", err, out)
		}
	}
	s, err := start(bin)
	if err != nil {
		return 1, err
	}
	flash = s
	code := m.Run()
	if err := s.stop(); err != nil {
		return 1, err
	}
	return code, nil
}

// journal keeps the server's log and finds lines in it.
type journal struct {
	mu    sync.Mutex
	lines []string
	grew  chan struct{}
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	close(j.grew)
	j.grew = make(chan struct{})
}

// find waits for a line with all of the texts in it.
func (j *journal) find(limit time.Duration, texts ...string) (string, bool) {
	end := time.After(limit)
	for from := 0; ; {
		j.mu.Lock()
		lines, grew := j.lines[from:], j.grew
		from = len(j.lines)
		j.mu.Unlock()
	next:
		for _, line := range lines {
			for _, t := range texts {
				if !strings.Contains(line, t) {
					continue next
				}
			}
			return line, true
		}
		select {
		case <-grew:
		case <-end:
			return "", false
		}
	}
}

// start runs the binary on a free port and waits until it serves.
func start(bin string) (*server, error) {
	s := &server{cmd: exec.Command(bin, "serve", "--listen", "127.0.0.1:0", "--log-format", "json"), log: &journal{grew: make(chan struct{})}}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		scan := bufio.NewScanner(stderr)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			s.log.add(scan.Text())
		}
	}()
	line, ok := s.log.find(60*time.Second, `"message":"serving"`)
	if !ok {
		_ = s.cmd.Process.Kill()
		return nil, fmt.Errorf("the server did not start:\n%s", strings.Join(s.log.lines, "\n"))
	}
	var said struct{ Address string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Address == "" {
		return nil, fmt.Errorf("no address in %s", line)
	}
	s.url = said.Address
	return s, nil
}

// stop asks the server to end and waits for it.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the server did not end within 30 s of SIGTERM"), s.cmd.Process.Kill())
	}
}

// active is how many requests the server works on now.
func (s *server) active(t *testing.T) int {
	t.Helper()
	resp, err := http.Get(s.url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var h struct{ Active, Queued int }
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	return h.Active + h.Queued
}

// idle waits until nothing is at work any more.
func (s *server) idle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; {
		n := s.active(t)
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d requests are still at work", n)
		}
	}
}
