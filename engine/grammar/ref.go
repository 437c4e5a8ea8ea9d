package grammar

import (
	"net/url"
	"strings"
)

// resolve follows the $ref of v to its schema in the same document.
func (c *compiler) resolve(v *value) (*value, error) {
	ref := v.get("$ref")
	for _, k := range v.keys {
		if _, known := keywords[k]; known && k != "$ref" && !silent(k) {
			return nil, c.fail(ErrUnsupported, v, "$ref", "cannot be combined with %q", k)
		}
	}
	if ref.kind != isString || !strings.HasPrefix(ref.text, "#") {
		return nil, c.fail(ErrUnsupported, v, "$ref", "only references within the schema (#/...) are followed, got %q", ref.text)
	}
	target := c.root
	if path := ref.text[1:]; path != "" {
		if path[0] != '/' {
			return nil, c.fail(ErrUnsupported, v, "$ref", "only JSON pointers are followed, got %q", ref.text)
		}
		for part := range strings.SplitSeq(path[1:], "/") {
			if target = target.child(unescape(part)); target == nil {
				return nil, c.fail(ErrSchema, v, "$ref", "%q leads nowhere", ref.text)
			}
		}
	}
	return target, nil
}

func unescape(part string) string {
	if strings.Contains(part, "%") {
		if s, err := url.PathUnescape(part); err == nil {
			part = s
		}
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
}
