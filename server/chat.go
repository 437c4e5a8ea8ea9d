package server

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/server/body"
)

// chatCompletions is POST /v1/chat/completions.
func (s *Server) chatCompletions(c echo.Context) error {
	id := newID("chatcmpl-")
	setRequestID(c, id)
	r, err := s.readObject(c)
	if err != nil {
		return err
	}
	j, err := decodeChat(r, s.model, id)
	if err != nil {
		return err
	}
	j.created = time.Now().Unix()
	return s.answer(c, j, newChatWire(j))
}

// decodeChat turns a request body into a job. It is a pure function of the body and the model but for a fresh seed.
func decodeChat(r *body.Reader, m *Model, id string) (*job, error) {
	j, err := readShared(r, m, id, "max_tokens", "max_completion_tokens")
	if err != nil {
		return nil, err
	}
	j.usage = readStreamOptions(r, j.stream, true)
	j.readClient(r)
	j.request.Stop = readStop(r)
	j.readChoices(r)
	readChatLogprobs(r, j)
	conv := &conversation{messages: readMessages(r), param: "messages"}
	readChatTools(r, m, conv)
	conv.kwargs = readKwargs(r)
	readEffort(r, "reasoning_effort", m, conv.kwargs)
	readFormat(r, "response_format", false, conv)
	takeFixed(r, chatFixed)
	if err := r.Close(); err != nil {
		return nil, err
	}
	return j, j.setConversation(conv)
}

// readChoices reads n.
func (j *job) readChoices(r *body.Reader) {
	if n, given := r.Int("n", 1, maxChoices); given {
		j.n = int(n)
	}
}
