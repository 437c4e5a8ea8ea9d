package server

import "github.com/flashlane/flashlane/engine/chat"

func newTemplate(src string, config []byte) (*chat.Template, error) {
	return chat.OpenTemplate([]byte(src), config)
}
