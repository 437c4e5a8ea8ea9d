//go:build !nopack

package nano

import _ "embed" // for the files of the pack

// Each file is a string of its own: strings lie in the program's read-only data and are used in place, while embed.FS
// would copy 42 MB on every start.
var (
	//go:embed pack/config.json
	config string
	//go:embed pack/generation_config.json
	generation string
	//go:embed pack/model.safetensors
	model string
	//go:embed pack/mtp.safetensors
	mtp string
	//go:embed pack/ngram-table.safetensors
	table string
	//go:embed pack/tokenizer.json
	tokenizer string
	//go:embed pack/tokenizer_config.json
	tokenizerConfig string
	//go:embed pack/chat_template.jinja
	chatTemplate string
	//go:embed pack/LICENSE-GO.txt
	licence string
	//go:embed pack/README.md
	readme string
)

// Files returns the pack's files by name, for pack.Files. false says that this binary was built without them.
func Files() (map[string]string, bool) {
	return map[string]string{
		"config.json":             config,
		"generation_config.json":  generation,
		"model.safetensors":       model,
		"mtp.safetensors":         mtp,
		"ngram-table.safetensors": table,
		"tokenizer.json":          tokenizer,
		"tokenizer_config.json":   tokenizerConfig,
		"chat_template.jinja":     chatTemplate,
		"LICENSE-GO.txt":          licence,
		"README.md":               readme,
	}, true
}
