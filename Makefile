# make prints the targets. Everything here also runs in CI (.ci/run).
GO      ?= go
RACE    := ./actors/... ./gate/... ./ple/... ./qsa/... ./server/... ./engine/prefix/...
TARGETS := linux/amd64 linux/arm64 darwin/arm64
ARM64   := CGO_ENABLED=0 GOARCH=arm64 $(GO)

.DEFAULT_GOAL := help

.PHONY: help
help: ## print the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: build
build: ## build ./flashlane
	$(GO) build -trimpath -o flashlane ./cmd/flashlane

.PHONY: test
test: ## all tests
	$(GO) test ./...

.PHONY: check
check: fmt vet static lint race cross generate ## everything but the plain tests

.PHONY: fmt
fmt: ## nothing is left to format
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: static
static: ## staticcheck
	$(GO) tool staticcheck ./...

.PHONY: lint
lint: ## the house rules: import flow, package comments, no hiding
	$(GO) test ./lint

.PHONY: race
race: ## race detector on everything concurrent
	$(GO) test -race $(RACE)

.PHONY: cross
cross: ## cross-build without cgo
	@for t in $(TARGETS); do echo "build $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build -o /dev/null ./... || exit 1; done

# qemu is slow. Left out are tests that would take minutes and say nothing of the machine that others here do not say: TestConform and
# TestBits (all ops again for every kernel set; TestBitsGolden has them, here for the set with the dot product and for the one
# without), TestExpertsBits (the kernels are those of TestLinearBits), TestFixedError and TestExp (of the arithmetic, which has the same bits
# everywhere), and prompts of more than 60 tokens; metal/probe opens shared libraries, so it would need an arm64 libc.
.PHONY: arm64
arm64: ## the arm64 kernels under qemu-user (Debian: qemu-user), with and without the dot product, and the model on them
	$(ARM64) vet ./metal/cpu
	FLASHLANE_WANT_KERNELS="dotprod neon go" $(ARM64) test -exec 'qemu-aarch64 -cpu max' \
	  -skip '^(TestConform|TestBits|TestExpertsBits|TestFixedError|TestExp)$$' ./metal/cpu/... ./metal/conform
	FLASHLANE_WANT_KERNELS="neon go" $(ARM64) test -exec 'qemu-aarch64 -cpu cortex-a72' -run '^(TestKernelSets|TestBitsGolden|TestLinearBits)$$' ./metal/cpu
	$(ARM64) test -exec 'qemu-aarch64 -cpu max' \
	  -run 'TestNanoBits|TestGoldenNanoQ8/^logits$$/^(go_main|chat_think|unicode|single_token)$$|TestGoldenNanoQ8/^(hidden|greedy)$$/^chat_think$$' ./engine/model

.PHONY: generate
generate: ## generated files are what their generators make
	$(GO) generate ./...
	@if [ -n "$$(git status --porcelain -- metal)" ]; then echo "go generate changes files:"; git status --porcelain -- metal; exit 1; fi

.PHONY: bench
bench: ## benchmarks of every op and pass
	$(GO) test -run xxx -bench . -benchmem ./metal/... ./engine/... ./ple/... ./qsa/...

.PHONY: fuzz
fuzz: ## a minute of fuzzing for everything that parses
	@for p in $$(grep -rl --include=*_test.go '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE --include=*_test.go '^func Fuzz[A-Za-z0-9_]+' $$p | cut -c6- | sort -u); do \
	    echo "$$p $$f"; $(GO) test -run xxx -fuzz "^$$f\$$" -fuzztime 10s $$p || exit 1; done; done

.PHONY: e2e
e2e: build ## real clients and a real browser against the built binary (Node, npm and Chromium needed)
	cd e2e && FLASHLANE_BIN=$(CURDIR)/flashlane $(GO) test -count=1 ./...
	cd e2e/npm && npm ci --no-audit --no-fund --ignore-scripts && FLASHLANE_BIN=$(CURDIR)/flashlane npm test
	cd e2e/web && npm ci --no-audit --no-fund --ignore-scripts && FLASHLANE_BIN=$(CURDIR)/flashlane node --test

.PHONY: chaos
chaos: ## short chaos runs, in the house and over HTTP, with their seeds, counts and the latency of /health
	$(GO) test -count=1 -run 'TestChaos|TestStorm' -v ./actors ./cmd/flashlane

.PHONY: soak
soak: ## long randomised runs: many arrangements, long chaos runs with a fresh seed; /health must answer within 250 ms
	FLASHLANE_SOAK=10m $(GO) test -race -run Chaos -v -timeout 30m ./actors
	FLASHLANE_SOAK=10m $(GO) test -run Storm -v -timeout 30m ./cmd/flashlane
	$(GO) test -run 'OneTokenStream|Killed|Cancel|Prefix|Disk' -count 20 -timeout 60m ./actors
