// Package tokenizer turns text into token ids and back, from a pack's own tokenizer.json.
//
// It reads the byte-level BPE family that the Qwen models use (spec section 6): NFC normalisation, a split pattern, byte-level
// merges, and added tokens such as <|im_end|> or <think>. What the file asks for is done exactly, or Load refuses it with an
// error that names the field; nothing is skipped in silence.
//
// Flow: intake encodes the prompt that engine/chat rendered; the session feeds each committed id to a Stream, which gives text
// that never splits a code point and is, once concatenated, exactly what Decode gives for the whole.
//
// Main types: Tokenizer (one per pack, safe for concurrent use) and Stream (one per request, one goroutine). The package knows
// nothing of chat templates or of sampling; Known tells the sampler which ids exist.
//
//	tok, err := tokenizer.Load(tokenizerJSON, tokenizerConfigJSON)
//	ids, err := tok.Encode("Hello")
//	text := tok.Decode(ids, true)
package tokenizer
