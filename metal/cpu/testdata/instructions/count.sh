#!/usr/bin/env bash
# Instructions per 64 multiply-adds of Linear on arm64, for docs/perf/cpu.md: executed ones, counted by qemu, as the difference between
# a short and a long run of the benchmark. It says nothing of how many of them a core does at once. Needs qemu-user and a C compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -shared -fPIC -o "$tmp/count.so" testdata/instructions/count.c
CGO_ENABLED=0 GOARCH=arm64 go test -c -o "$tmp/cpu.test" .

run() { # format rows kernels precision times
  GOMAXPROCS=1 GOGC=off qemu-aarch64 -cpu max -plugin "$tmp/count.so" "$tmp/cpu.test" -test.run xxx \
    -test.bench "BenchmarkLinear/n=1024/k=256/format=$1/rows=$2\$/kernels=$3/threads=1/$4\$" -test.benchtime "$5x" 2>&1 |
    awk '/^instructions/ { print $2 }'
}

for format in q8 q4 bf16 f32; do
  for rows in 1 4 16; do
    for kernels in dotprod neon go; do
      case $kernels in
      go) long=2 ;;
      *) long=50 ;;
      esac
      case $format in
      q*) precisions="exact fast" ;;
      *) precisions=exact ;;
      esac
      for precision in $precisions; do
        from=$(run $format $rows $kernels $precision 1) to=$(run $format $rows $kernels $precision $((long + 1)))
        awk -v d=$((to - from)) -v n=$((long * rows * 1024 * 256 / 64)) -v what="$format rows $rows $kernels $precision" \
          'BEGIN { printf "%-30s %7.1f\n", what, d / n }'
      done
    done
  done
done
