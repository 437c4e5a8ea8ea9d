// Package bundle opens all that serving a pack takes, in one go: the trunk and the MTP head on a device, the tokenizer and
// the chat template, the ids that may be sampled and those that stop. `serve`, `generate`, `logits` and the tests open
// packs through it, so that none is configured differently from another.
package bundle
