#!/usr/bin/env bash
# Measures how well nano predicts text it has not seen, for every recipe: the table of perplexity.md.
#
#     nano/perplexity.sh DIR     # DIR: the bf16 pack that nano was made from
#
# The text is the Go source of golang.org/x/image v0.34.0 without tests, generated files and tables; that module was not
# among those nano was trained on. Needs Go and room for four packs in a temporary folder.
set -euo pipefail
source=${1:?want the folder of the bf16 pack}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go build -o "$work/flashlane" ./cmd/flashlane
text=$(cd "$work" && go mod download -json golang.org/x/image@v0.34.0 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
flags=()
while IFS= read -r file; do
  digits=$(tr -cd '0-9' < "$file" | wc -c)
  if [ $((digits * 5)) -lt "$(wc -c < "$file")" ] && ! grep -qi '^// .*generated' "$file"; then # a fifth of a table is digits
    flags+=(--text "$file")
  fi
done < <(find "$text" -name '*.go' ! -name '*_test.go' | LC_ALL=C sort)

for recipe in bf16 q8 optimized-speed q4; do
  "$work/flashlane" pack convert "$source" "$work/$recipe" --recipe "$recipe" >&2
  "$work/flashlane" bench perplexity --model "$work/$recipe" "${flags[@]}" > "$work/$recipe.md"
done
head -n 2 "$work/bf16.md"
for recipe in bf16 q8 optimized-speed q4; do
  tail -n +3 "$work/$recipe.md"
done
