package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/flashlane/flashlane/server"
)

type generateCmd struct {
	houseFlags
	Prompt      string   `arg:"" help:"The question; - reads standard input."`
	System      string   `help:"System message."`
	Raw         bool     `help:"Continue the prompt as plain text (/v1/completions) instead of answering it as a chat."`
	MaxTokens   int      `name:"max-tokens" help:"Most tokens to generate; 0 means up to the context." default:"0"`
	Temperature *float64 `help:"Sampling temperature. Default: the pack's."`
	NoThink     bool     `name:"no-think" help:"Answer without thinking first."`
	JSON        bool     `name:"json" help:"Print the whole response, as the server gives it."`
}

// Run answers over the server's own handler, so that nothing is configured differently from serve.
func (c generateCmd) Run(ctx context.Context) error {
	if c.LogLevel == "info" {
		c.LogLevel = "warn" // one answer needs no running commentary; verdicts and failures still show
	}
	switch {
	case c.Raw && (c.System != "" || c.NoThink):
		return errors.New("--raw continues plain text: --system and --no-think have no meaning with it")
	case c.MaxTokens < 0:
		return fmt.Errorf("--max-tokens: got %d, want 0 (up to the context) or more", c.MaxTokens)
	case c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= 2):
		return fmt.Errorf("--temperature: got %v, want 0 to 2", *c.Temperature)
	}
	if c.Prompt == "-" {
		raw, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		c.Prompt = string(raw)
	}
	if !utf8.ValidString(c.Prompt + c.System) {
		return errors.New("the prompt is no valid UTF-8")
	}
	h, err := c.start(nil)
	if err != nil {
		return err
	}
	err = c.ask(ctx, h)
	return errors.Join(err, h.close())
}

func (c generateCmd) body() (path string, body map[string]any) {
	body = map[string]any{"stream": !c.JSON}
	if c.MaxTokens > 0 {
		body["max_tokens"] = c.MaxTokens
	}
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	if c.Raw {
		body["prompt"] = c.Prompt
		return "/v1/completions", body
	}
	var messages []map[string]string
	if c.System != "" {
		messages = append(messages, map[string]string{"role": "system", "content": c.System})
	}
	body["messages"] = append(messages, map[string]string{"role": "user", "content": c.Prompt})
	if c.NoThink {
		body["enable_thinking"] = false
	}
	return "/v1/chat/completions", body
}

func (c generateCmd) ask(ctx context.Context, h *house) error {
	s, err := server.New(server.Options{Listen: "127.0.0.1:0", Version: version, Log: h.log}, server.Bridge(h.system, h.model, h.bundle), h.model)
	if err != nil {
		return err
	}
	path, body := c.body()
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	web := httptest.NewServer(s.Handler()) // loopback, for this one request
	defer web.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("status %d: %s", resp.StatusCode, bytes.TrimSpace(raw))
	}
	if c.JSON {
		_, err := io.Copy(os.Stdout, resp.Body)
		return err
	}
	return printStream(resp.Body, os.Stdout)
}

// printStream writes the text of an event stream as it comes: reasoning between <think> tags, then the answer.
func printStream(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	thinking := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Error   *struct{ Message string }
			Choices []struct {
				Text  string
				Delta struct {
					Content   string
					Reasoning string          `json:"reasoning_content"`
					ToolCalls json.RawMessage `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return fmt.Errorf("stream: %w", err)
		}
		if chunk.Error != nil {
			return errors.New(chunk.Error.Message)
		}
		for _, ch := range chunk.Choices {
			text := ch.Text + ch.Delta.Content
			if ch.Delta.Reasoning != "" && !thinking {
				thinking = true
				fmt.Fprint(out, "<think>\n")
			}
			fmt.Fprint(out, ch.Delta.Reasoning)
			if text != "" && thinking {
				thinking = false
				fmt.Fprint(out, "\n</think>\n\n")
			}
			fmt.Fprint(out, text)
			if len(ch.Delta.ToolCalls) > 0 {
				fmt.Fprintf(out, "%s\n", ch.Delta.ToolCalls)
			}
		}
	}
	fmt.Fprintln(out)
	return lines.Err()
}
