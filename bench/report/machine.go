package report

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Setup is where, when and how something was measured.
type Setup struct {
	Time    time.Time `json:"time"`
	Command string    `json:"command"`
	Version string    `json:"version"`
	Go      string    `json:"go"`
	OS      string    `json:"os"`
	CPU     string    `json:"cpu"`
	Cores   int       `json:"cores"`
	Load    string    `json:"load_before"` // load average of the last minute, "" if the system does not tell
	Note    string    `json:"note,omitempty"`
}

// NewSetup describes this machine now.
func NewSetup(args []string, version, note string) Setup {
	return Setup{Time: time.Now().UTC().Truncate(time.Second), Command: "flashlane " + strings.Join(quoted(args), " "), Version: version,
		Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpuModel(), Cores: runtime.NumCPU(), Load: loadAverage(), Note: note}
}

// quoted puts arguments with characters that a shell would read into single quotes.
func quoted(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"$&|;<>()*?`\\#~!") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return out
}

// String is the setup as the first lines of a report.
func (s Setup) String() string {
	cpu := s.CPU
	if cpu == "" {
		cpu = "unknown CPU"
	}
	load := s.Load
	if load == "" {
		load = "unknown"
	}
	out := fmt.Sprintf("    %s\n\nMeasured %s on %s, %s, %d cores, %s, version %s; load average before: %s.\n",
		s.Command, s.Time.Format("2006-01-02 15:04 MST"), s.OS, cpu, s.Cores, s.Go, s.Version, load)
	if s.Note != "" {
		out += s.Note + "\n"
	}
	return out
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(raw), " ")
	return first
}
