package server

import (
	"errors"
	"net/http"

	"github.com/flashlane/flashlane/engine/tokenizer"
	"github.com/flashlane/flashlane/server/body"
)

// encode gives the ids of a text, at most limit of them. special recognises added tokens written in it.
func (m *Model) encode(text, param string, limit int, special bool) ([]int32, error) {
	ids, err := m.Tokenizer.EncodeAtMost(text, limit, special)
	switch {
	case errors.Is(err, tokenizer.ErrTooLong):
		return nil, refuse(http.StatusBadRequest, typeInvalid, "context_length_exceeded", param,
			"the text has more than %d tokens; the context has %d", limit, m.Context)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, typeInvalid, body.CodeInvalidValue, param, "the text could not be tokenised: %v", err)
	}
	return ids, nil
}
