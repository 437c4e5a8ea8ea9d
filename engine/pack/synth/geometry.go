package synth

import (
	"bytes"
	_ "embed" // released.json
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/flashlane/flashlane/engine/pack"
)

// released is the released model's geometry (spec 1.1).
//
//go:embed released.json
var released []byte

// ErrGeometry marks a geometry that cannot be cut as asked.
var ErrGeometry = errors.New("synth: bad geometry")

// Geometry is a config.json whose sizes can be changed.
type Geometry struct {
	root, text map[string]any // text is root, or its text_config
	nested     bool
}

// Released is the geometry of the released model: 48 layers of 512 experts, 2560 wide, 320,001,536 table rows.
func Released() (Geometry, error) { return Parse(released) }

// Parse takes the geometry of a config.json, which must be one that [pack.ParseConfig] takes.
func Parse(config []byte) (Geometry, error) {
	if _, err := pack.ParseConfig(config); err != nil {
		return Geometry{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(config))
	dec.UseNumber()
	var g Geometry
	if err := dec.Decode(&g.root); err != nil {
		return Geometry{}, fmt.Errorf("config.json: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Geometry{}, errors.New("config.json: text after the JSON object")
	}
	g.text = g.root
	if text, ok := g.root["text_config"].(map[string]any); ok {
		g.text, g.nested = text, true
	}
	return g, nil
}

// JSON is the config.json.
func (g Geometry) JSON() ([]byte, error) { return json.Marshal(g.root) }

// Config is the checked geometry.
func (g Geometry) Config() (pack.Config, error) {
	text, err := g.JSON()
	if err != nil {
		return pack.Config{}, err
	}
	return pack.ParseConfig(text)
}

// Cut keeps the first layers of the trunk. What is left must have a QSA layer and every PLE layer, or the pack would not
// meet the code it is made for; the error names the fewest layers that do.
func (g Geometry) Cut(layers int) error {
	c, err := g.Config()
	if err != nil {
		return err
	}
	least := slices.Index(c.Kinds, pack.KindQSA) + 1
	if least == 0 {
		return fmt.Errorf("%w: no layer has sparse attention", ErrGeometry)
	}
	for _, i := range c.PLELayers {
		least = max(least, i+1)
	}
	if layers < least || layers > c.Layers {
		return fmt.Errorf("%w: layers: got %d, want %d (the first with a QSA layer and all PLE layers) to %d", ErrGeometry, layers, least, c.Layers)
	}
	g.text["num_hidden_layers"] = layers
	if kinds, ok := g.text["layer_types"].([]any); ok {
		g.text["layer_types"] = kinds[:layers]
	}
	return nil
}

// SetRows makes the n-gram tables as large as they can be with at most rows rows each. The rows follow from the hash:
// a table has as many as the prime head sizes from ngram_vocab_size_base on make together, padded. So the largest base
// is taken that does not ask for more, and every row id stays inside the table. It returns the base and the rows of each
// table.
func (g Geometry) SetRows(rows int64) (base int64, made []int64, err error) {
	c, err := g.Config()
	if err != nil {
		return 0, nil, err
	}
	if len(c.PLELayers) == 0 {
		return 0, nil, fmt.Errorf("%w: rows: the model has no n-gram table", ErrGeometry)
	}
	n := c.NgramGeometry()
	tables := func(base int64) (out []int64, err error) {
		n := n
		n.Base = base
		for k := range c.PLELayers {
			r, err := n.Rows(k)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, nil
	}
	if made, err = Rows(&c); err != nil {
		return 0, nil, err
	}
	if slices.Max(made) == rows {
		return c.NgramBase, made, nil // as it is
	}
	least, err := tables(2)
	if err != nil {
		return 0, nil, err
	}
	if want := slices.Max(least); rows < want {
		return 0, nil, fmt.Errorf("%w: rows: got %d, want at least %d, which %d heads of the smallest prime sizes make", ErrGeometry, rows, want, n.PerRow())
	}
	// Head sizes rise with the base, so rows/heads bounds it from above.
	top := min(rows/int64(n.PerRow())+1, maxBase)
	base = 1 + int64(sort.Search(int(top-1), func(i int) bool {
		r, terr := tables(int64(i) + 2)
		if terr != nil {
			err = terr
			return true
		}
		return slices.Max(r) > rows
	}))
	if err != nil {
		return 0, nil, err
	}
	if made, err = tables(base); err != nil {
		return 0, nil, err
	}
	g.text["ngram_vocab_size_base"] = base
	return base, made, nil
}

// maxBase is the largest base a config may have.
const maxBase = 1 << 32

// SetTokens names the ids of a tokenizer that is not the geometry's own: the boundary of n-grams and, where the config
// is nested and has a place for them, the ids that end an answer.
func (g Geometry) SetTokens(boundary int32, stops []int32) {
	g.text["eos_token_id"], g.text["bos_token_id"] = boundary, nil
	if g.nested {
		g.root["eos_token_id"] = stops
	}
}

// Rows tells the rows of each n-gram table.
func Rows(c *pack.Config) ([]int64, error) {
	var out []int64
	for k := range c.PLELayers {
		r, err := c.NgramGeometry().Rows(k)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
