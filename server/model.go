package server

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
	"github.com/flashlane/flashlane/engine/verify"
)

// MaxDepth is the most drafts per round a request may ask for (design, section 3: a round has 1 to 8 rows).
const MaxDepth = 7

// Model is the pack that is served, as the wires need it. It is not changed after New.
type Model struct {
	ID          string
	Created     int64 // Unix seconds, as /v1/models tells it
	Context     int   // positions a sequence may have, prompt and answer together
	MaxOutput   int   // most tokens of one answer; 0: whatever the context leaves
	Tokenizer   *tokenizer.Tokenizer
	Template    *chat.Template // nil: the pack has none, chat is refused
	Vocab       *sample.Vocab
	Defaults    sample.Params // what a request gets that names nothing: generation_config.json, else 1, 1, 0 (seed unused)
	Seed        *uint64       // the seed of requests that name none; nil: a fresh one each
	Depth       int           // drafts per round by default
	MaxDepth    int           // 0 when the pack has no MTP head, else at most MaxDepth
	Rule        verify.Rule
	DeviceKind  string
	Precision   string    // metal.Info.Precision, "" if the device has no choice
	Fingerprint string    // of the pack
	Grammars    *Grammars // nil: what needs one (JSON formats, forced and strict tool calls) is refused
}

// check refuses a model that no request could be served from.
func (m *Model) check() error {
	switch {
	case m == nil:
		return errors.New("server: no model")
	case m.ID == "":
		return errors.New("server: model: no id")
	case m.Tokenizer == nil:
		return fmt.Errorf("server: model %s: the pack has no tokenizer.json, so text can neither be read nor written", m.ID)
	case m.Vocab == nil:
		return fmt.Errorf("server: model %s: no vocabulary", m.ID)
	case m.Context < 2:
		return fmt.Errorf("server: model %s: context of %d positions, want at least 2", m.ID, m.Context)
	case m.MaxDepth < 0 || m.MaxDepth > MaxDepth || m.Depth < 0 || m.Depth > m.MaxDepth:
		return fmt.Errorf("server: model %s: depth %d of at most %d, want 0 <= depth <= most <= %d", m.ID, m.Depth, m.MaxDepth, MaxDepth)
	}
	if err := m.Defaults.Validate(); err != nil {
		return fmt.Errorf("server: model %s: sampling defaults: %w", m.ID, err)
	}
	return nil
}

// maxOutput is the most tokens an answer can have.
func (m *Model) maxOutput() int {
	if m.MaxOutput > 0 && m.MaxOutput < m.Context {
		return m.MaxOutput
	}
	return m.Context - 1
}
