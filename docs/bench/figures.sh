#!/usr/bin/env bash
# Measures every figure of the README's table in one go and prints the table as Markdown.
#
#   docs/bench/figures.sh [serve flags]      for instance: docs/bench/figures.sh --threads 1
#   RUNS=9 docs/bench/figures.sh             more runs per figure (default 5)
#
# Builds the binary, serves the embedded pack on a free loopback port, asks over HTTP, and ends what it started, which is
# nothing but that server. One request at a time. The depth is held fixed, so that "depth 3" means it; one row is measured
# as served, with the depth chosen by what rounds cost. Needs bash, curl, jq and Go. Leave the machine alone meanwhile: the load average before
# the run is printed with the result.
set -euo pipefail
cd "$(dirname "$0")/../.."

RUNS=${RUNS:-5}
[[ $RUNS =~ ^[1-9][0-9]*$ ]] || { echo "RUNS: got '$RUNS', want a number from 1" >&2; exit 2; }
for tool in curl jq go; do
  command -v "$tool" >/dev/null || { echo "needs $tool" >&2; exit 2; }
done

work=$(mktemp -d)
pid=
stop() {
  if [ -n "$pid" ]; then
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  fi
  pid=
}
trap 'stop; rm -rf "$work"' EXIT

start() { # serve flags; sets pid and address
  "$work/flashlane" serve --listen 127.0.0.1:0 "$@" >/dev/null 2>"$work/log" &
  pid=$!
  # The address is in the log line that ends the start; the log is one JSON object a line.
  for _ in $(seq 100); do
    address=$(jq -rR 'fromjson? | select(.message == "serving") | .address' "$work/log")
    [ -n "$address" ] && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "the server did not come up:" >&2
  cat "$work/log" >&2
  exit 1
}

load=$(uptime | sed 's/.*load average[s]*: *//; s/,.*//')
go build -o "$work/flashlane" ./cmd/flashlane

post() { # route body
  curl -sS --fail-with-body --max-time 300 "$address$1" -H 'Content-Type: application/json' -d "$2"
}
median() { jq -s 'sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end'; }
show() { LC_ALL=C awk -v "f=$1" '{ printf f "\n", $1 }'; } # format, number on stdin
metric() { # name: the sum over its labels
  curl -sS "$address/metrics" | LC_ALL=C awk -v "n=flashlane_$1" '$1 == n || index($1, n "{") == 1 { s += $2 } END { printf "%.9f\n", s }'
}

prompts=(
  "What does strings.TrimSpace do?"
  "How do I read a file line by line in Go?"
  "What is a goroutine?"
)
chat() { # prompt temperature seed depth
  post /v1/chat/completions "$(jq -n --arg p "$1" --argjson t "$2" --argjson s "$3" --argjson d "$4" \
    '{messages: [{role: "user", content: $p}], temperature: $t, seed: $s, depth: $d, max_tokens: 256}')" |
    jq -c '{tokens: .usage.completion_tokens, rounds: .flashlane.rounds, ms: .flashlane.timings.decode_ms, sha: .flashlane.tokens_sha256}'
}

start --fixed-depth "$@"

# Prefill: real Go text, cut to an exact number of token ids. The ids come from the server's own answer.
text=$(go env GOROOT)/src/strings/strings.go
ids=$(post /v1/completions "$(head -c 9000 "$text" | jq -Rs '{prompt: ., max_tokens: 1}')" | jq -c '.flashlane.replay.prompt_ids')
prefill() { # tokens; each run begins one token later, so that no prompt begins like another and nothing can be cached
  local body
  for run in $(seq "$RUNS"); do
    body=$(jq -cn --argjson ids "$ids" --argjson n "$1" --argjson r "$run" \
      '$ids[$r:$r + $n] | if length == $n then {prompt: ., max_tokens: 1, temperature: 0} else error("the text is too short") end')
    post /v1/completions "$body" | jq --argjson n "$1" '
      if .usage.prompt_tokens != $n then error("the prompt was cut")
      elif .usage.prompt_tokens_details.cached_tokens > 0 then error("the prompt was cached")
      else .flashlane.timings.prefill_tok_s end'
  done | median | show '%.0f'
}

# Decode: the three prompts at temperature 0, tokens after the first over the time after the first; median of the runs.
decode() { # depth
  for _ in $(seq "$RUNS"); do
    for p in "${prompts[@]}"; do chat "$p" 0 1 "$1"; done | jq -s '(map(.tokens - 1) | add) / (map(.ms) | add) * 1000'
  done | median | show '%.0f'
}

# Tokens per round are a pure function of the request, so runs differ by their seeds and not by chance.
per_round() { # prompt temperature
  for seed in $(seq "$RUNS"); do chat "$1" "$2" "$seed" 3; done |
    jq -s 'map(.rounds) as $r | if ($r | add) == 0 then 0 else (map(.tokens - 1) | add) / ($r | add) end' | show '%.2f'
}

chat "${prompts[0]}" 0 1 3 >/dev/null # warm up: caches and scratch have grown
p512=$(prefill 512)
p2048=$(prefill 2048)
d0=$(decode 0)
round0=$(metric round_seconds_total) pass0=$(metric draft_pass_seconds_total) judge0=$(metric verify_pass_seconds_total) n0=$(metric rounds_total)
d3=$(decode 3)
round1=$(metric round_seconds_total) pass1=$(metric draft_pass_seconds_total) judge1=$(metric verify_pass_seconds_total) n1=$(metric rounds_total)
# What of a round is in no pass: mailboxes, hops between goroutines, the session's own work.
share=$(LC_ALL=C awk -v "r=$round1" -v "R=$round0" -v "d=$pass1" -v "D=$pass0" -v "v=$judge1" -v "V=$judge0" -v "n=$n1" -v "N=$n0" \
  'BEGIN { r -= R; o = r - (d - D) - (v - V); printf "%.1f %% (%.0f of %.0f µs)", 100 * o / r, 1e6 * o / (n - N), 1e6 * r / (n - N) }')
exact=yes
for p in "${prompts[@]}"; do # the promise, checked on the way: depth changes no token
  [ "$(chat "$p" 1 1 0 | jq -r .sha)" = "$(chat "$p" 1 1 3 | jq -r .sha)" ] || exact=NO
done
rows=
for p in "${prompts[@]}"; do
  rows+="| tokens per round, depth 3, \"$p\" | $(per_round "$p" 0) | $(per_round "$p" 1) |"$'\n'
done

if [ -r "/proc/$pid/status" ]; then
  peak=$(awk '/^VmHWM/ { printf "%.0f MiB", $2 / 1024 }' "/proc/$pid/status")
else
  peak="$(ps -o rss= -p "$pid" | awk '{ printf "%.0f MiB", $1 / 1024 }') (now, not peak)"
fi
peak+=", $(metric prefix_bytes | awk '{ printf "%.0f", $1 / 1048576 }') of them snapshots of prompts"
cpu=$(awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo 2>/dev/null || sysctl -n machdep.cpu.brand_string 2>/dev/null || true)
kernels=$(jq -rR 'fromjson? | select(.message == "serving") | "\(.device), kernels \(.kernels)"' "$work/log")

stop

start "$@"
chat "${prompts[0]}" 0 1 3 >/dev/null
for _ in $(seq 4); do decode 3 >/dev/null; done # the policy looks around before it settles
served=$(decode 3)
stop

cat <<TABLE
Measured $(date -u +%Y-%m-%d) on $(uname -s) $(uname -m), ${cpu:-unknown CPU}, $(getconf _NPROCESSORS_ONLN) cores, $(go env GOVERSION), $kernels; load before the run $load;
\`RUNS=$RUNS docs/bench/figures.sh${*:+ $*}\` at $(git rev-parse --short HEAD 2>/dev/null || echo "no commit")$([ -z "$(git status --porcelain 2>/dev/null)" ] || echo " with changes").

| figure, one request at a time | value |
| --- | --- |
| prefill, 512 tokens | $p512 tok/s |
| prefill, 2048 tokens | $p2048 tok/s |
| decode, depth 0, temperature 0 | $d0 tok/s |
| decode, depth 3, temperature 0 | $d3 tok/s |
| decode as served: at most 3, by cost, temperature 0 | $served tok/s |
| a round's time outside of the passes (actors, depth 3) | $share |
| peak resident memory | $peak |
| same tokens at depth 0 and 3, temperature 1 | $exact |

| | temperature 0 | temperature 1, seeds 1 to $RUNS |
| --- | --- | --- |
$rows
TABLE
[ "$exact" = yes ]
