package server

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// modelCard is one entry of /v1/models. The limits have the names that different clients look for, and the same values
// that requests are held to.
type modelCard struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Created   int64  `json:"created"`
	OwnedBy   string `json:"owned_by"`
	Context   int    `json:"context_length"`
	MaxModel  int    `json:"max_model_len"`
	MaxOutput int    `json:"max_output_tokens"`
	Depth     int    `json:"depth"`
	MaxDepth  int    `json:"max_depth"`
	Accept    string `json:"acceptance"`

	Sampling samplingCard `json:"sampling"` // what a request gets that names nothing
}

type samplingCard struct {
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	MinP        float64 `json:"min_p"`
}

func (m *Model) card() modelCard {
	return modelCard{ID: m.ID, Object: "model", Created: m.Created, OwnedBy: "flashlane", Context: m.Context, MaxModel: m.Context,
		MaxOutput: m.maxOutput(), Depth: m.Depth, MaxDepth: m.MaxDepth, Accept: m.Rule.String(),
		Sampling: samplingCard{m.Defaults.Temperature, m.Defaults.TopP, m.Defaults.TopK, m.Defaults.MinP}}
}

// anthropicCard is a model as the Anthropic wire shows it.
type anthropicCard struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Created     string `json:"created_at"`
	MaxInput    int    `json:"max_input_tokens"`
	MaxTokens   int    `json:"max_tokens"`
}

func (m *Model) anthropicCard() anthropicCard {
	return anthropicCard{Type: "model", ID: m.ID, DisplayName: m.ID, Created: time.Unix(m.Created, 0).UTC().Format(time.RFC3339),
		MaxInput: m.Context - 1, MaxTokens: m.maxOutput()}
}

// models lists the one model, in Anthropic's shape for clients that send its version header.
func (s *Server) models(c echo.Context) error {
	if isAnthropic(c.Request()) {
		return s.writeJSON(c, http.StatusOK, map[string]any{"data": []anthropicCard{s.model.anthropicCard()}, "has_more": false,
			"first_id": s.model.ID, "last_id": s.model.ID})
	}
	return s.writeJSON(c, http.StatusOK, map[string]any{"object": "list", "data": []modelCard{s.model.card()}})
}

// oneModel answers for one id, which may contain slashes.
func (s *Server) oneModel(c echo.Context) error {
	id, err := param(c, "*")
	if err != nil || id != s.model.ID {
		return s.model.unknown(id)
	}
	if isAnthropic(c.Request()) {
		return s.writeJSON(c, http.StatusOK, s.model.anthropicCard())
	}
	return s.writeJSON(c, http.StatusOK, s.model.card())
}

// unknown is the refusal of another model's name.
func (m *Model) unknown(id string) *apiError {
	return refuse(http.StatusNotFound, typeInvalid, "model_not_found", "model", "the model %q is not served here; this server has %q", id, m.ID)
}
