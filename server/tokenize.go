package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/server/body"
)

// tokenized is the answer of /tokenize.
type tokenized struct {
	Tokens []int32  `json:"tokens"`
	Count  int      `json:"count"`
	Max    int      `json:"max_model_len"`
	Pieces []string `json:"token_strs,omitempty"`
}

// tokenize is POST /tokenize: the ids of a prompt, or those that a conversation comes to.
func (s *Server) tokenize(c echo.Context) error {
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	answer, err := decodeTokenize(r, s.model)
	if err != nil {
		return err
	}
	return s.writeJSON(c, http.StatusOK, answer)
}

func decodeTokenize(r *body.Reader, m *Model) (*tokenized, error) {
	if name, given := r.Str("model"); given && name != m.ID {
		return nil, m.unknown(name)
	}
	special := true
	if v, given := r.Bool("parse_special"); given {
		special = v
	}
	strs, _ := r.Bool("return_token_strs")
	takeFixed(r, []fixed{{field: "add_special_tokens", takes: []string{"true", "false"}}}) // the tokenizers served add none either way
	var ids []int32
	var err error
	if r.Has("messages") {
		conv := &conversation{messages: readMessages(r), param: "messages"}
		readChatTools(r, m, conv)
		conv.kwargs = readKwargs(r)
		readEffort(r, "reasoning_effort", m, conv.kwargs)
		takeFixed(r, []fixed{{field: "prompt", hint: "give prompt or messages"}, {field: "add_generation_prompt", takes: []string{"true"}}})
		if err := r.Close(); err != nil {
			return nil, err
		}
		_, ids, err = conv.render(m)
	} else {
		text, given := r.Str("prompt")
		if !given {
			r.Fail("prompt", body.CodeMissing, "is needed: a string, or messages in its stead")
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
		ids, err = m.encode(text, "prompt", maxTokenize*m.Context, special)
	}
	if err != nil {
		return nil, err
	}
	answer := &tokenized{Tokens: nonNil(ids), Count: len(ids), Max: m.Context}
	if strs {
		for _, id := range ids {
			answer.Pieces = append(answer.Pieces, tokenText(m.Tokenizer.Piece(id)))
		}
	}
	return answer, nil
}

// detokenize is POST /detokenize: the text of ids.
func (s *Server) detokenize(c echo.Context) error {
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	text, err := decodeDetokenize(r, s.model)
	if err != nil {
		return err
	}
	return s.writeJSON(c, http.StatusOK, map[string]string{"prompt": text})
}

func decodeDetokenize(r *body.Reader, m *Model) (string, error) {
	if name, given := r.Str("model"); given && name != m.ID {
		return "", m.unknown(name)
	}
	items, given := r.Array("tokens")
	if !given {
		r.Fail("tokens", body.CodeMissing, "is needed: an array of token ids")
	}
	skip, _ := r.Bool("skip_special_tokens")
	if err := r.Close(); err != nil {
		return "", err
	}
	ids, err := tokenIDs(items, m, "tokens")
	if err != nil {
		return "", err
	}
	return m.Tokenizer.Decode(ids, skip), nil
}

// maxTokenize is how many contexts' worth of tokens /tokenize counts: enough to tell by how much a text is too long.
const maxTokenize = 16
