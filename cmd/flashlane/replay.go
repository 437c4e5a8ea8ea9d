package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/server"
)

type replayCmd struct {
	houseFlags
	Response string `arg:"" help:"A saved response of this server (JSON, or the lines of an event stream)." placeholder:"RESPONSE.json"`
}

// Run makes the saved request again, at the depth that was asked for if --depth is given, and compares the digests.
func (c replayCmd) Run(ctx context.Context, k *kong.Context) error {
	if err := unused(k, "the response says it: leave the flag out", "seed", "acceptance"); err != nil {
		return err
	}
	if c.LogLevel == "info" {
		c.LogLevel = "warn"
	}
	raw, err := os.ReadFile(c.Response)
	if err != nil {
		return err
	}
	saved, err := server.ReadSaved(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Response, err)
	}
	deep := slices.Contains(given(k), "depth")
	if deep && saved.Replay.Acceptance != verify.Coupled.String() {
		return fmt.Errorf("--depth: the response was made by the rule %s, under which the text depends on it: leave the flag out", saved.Replay.Acceptance)
	}
	h, err := c.start(nil)
	if err != nil {
		return err
	}
	request, err := saved.Replay.RequestIn(h.model.Grammars)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", c.Response, err), h.close())
	}
	if deep {
		request.Depth = h.model.Depth // other drafts, the same bytes
	}
	err = compare(ctx, h, saved, request)
	return errors.Join(err, h.close())
}

func compare(ctx context.Context, h *house, saved *server.Saved, request *intake.Request) error {
	if h.model.Fingerprint != saved.Fingerprint || h.model.DeviceKind != saved.DeviceKind {
		hint := ""
		if saved.Precision != "" && saved.Precision != h.model.Precision {
			hint = "; give --precision " + saved.Precision
		}
		return fmt.Errorf("the response is of pack %s on %s, this is pack %s on %s: bytes are promised for equal pack and device kind only%s",
			saved.Fingerprint, saved.DeviceKind, h.model.Fingerprint, h.model.DeviceKind, hint)
	}
	report, err := run(ctx, h, request)
	if err != nil {
		return err
	}
	var differ []error
	for _, d := range []struct{ name, saved, now string }{
		{"tokens", saved.TokensSHA, report.TokensSHA},
		{"reasoning", saved.ReasoningSHA, report.ReasoningSHA},
		{"text", saved.TextSHA, report.TextSHA},
	} {
		switch {
		case d.saved != d.now:
			differ = append(differ, fmt.Errorf("%s: got %s, the response has %s", d.name, orEmpty(d.now), orEmpty(d.saved)))
		default:
			fmt.Printf("%-9s %s same\n", d.name, orEmpty(d.now))
		}
	}
	if saved.TokensSHA == "" {
		differ = append(differ, errors.New("tokens: the response has none, so nothing is proved"))
	}
	return errors.Join(differ...)
}

func orEmpty(digest string) string {
	if digest == "" {
		return "(empty)"
	}
	return digest
}

// run carries a request through the house.
func run(ctx context.Context, h *house, r *intake.Request) (*intake.Report, error) {
	out := h.system.Submit(r)
	for {
		e, err := out.Next(ctx)
		if err != nil {
			h.system.Cancel(r.ID, "interrupted")
			return nil, err
		}
		switch e.Kind {
		case intake.Done:
			return e.Report, nil
		case intake.Failed:
			return nil, e.Err
		}
	}
}
