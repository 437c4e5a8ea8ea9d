# make prints the targets. Everything here also runs in CI (.ci/run).
GO      ?= go
RACE    := ./actors/... ./gate/... ./ple/... ./qsa/... ./server/... ./engine/prefix/...
TARGETS := linux/amd64 linux/arm64 darwin/arm64

.DEFAULT_GOAL := help

.PHONY: help
help: ## print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

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
