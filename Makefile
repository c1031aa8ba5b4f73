# `make` prints this help. CI runs .ci/run, which runs `make check`.
#
# A line "## name: what" is the help of a target.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help
MODULES := $(shell cat modules.txt)
# tools has a module of its own outside the workspace, since its dependencies are nobody else's.
LIBRARIES := $(filter-out tools,$(MODULES))
UNITS := $(patsubst %,./%/...,$(filter-out tests/e2e,$(LIBRARIES)))
LINT := .bin/golangci-lint
GO ?= go

.PHONY: help demo test race unit e2e e2e-k3d node-deps cluster-up cluster-down go-get weight tools lint fix generate tidy \
	check check-clean wasip1 clean

help:
	@echo "make demo and make test are the two to know."
	@echo
	@sed -n 's/^## \([a-z0-9-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'

## demo: start a real Kubernetes and watch a controller at work; KUBECONFIG=FILE uses that cluster instead
demo:
	@cd examples && $(GO) run ./document-controller/demo

## test: all tests with the race detector, those against a real API server among them
test: race e2e

## race: the tests of every module but the end-to-end ones, with the race detector
race:
	$(GO) test -race $(UNITS)

## unit: the tests that need no cluster, without the race detector, for a quick look
unit:
	$(GO) test $(filter-out ./tests/%,$(UNITS))

## e2e: the end-to-end tests, on the cluster of KUBECONFIG or else the built-in one
e2e:
	$(GO) test -race -count=1 ./tests/e2e/...

## e2e-k3d: the end-to-end tests on a k3d cluster; needs Docker and k3d
e2e-k3d:
	@scripts/e2e-k3d

## node-deps: install what a cluster with a node needs of the system
node-deps:
	@tests/cluster/internal/node/deps.sh

## cluster-up: start a cluster that stays up; ARGS=--node adds a node
cluster-up:
	@$(GO) run ./tests/cluster/cmd/kubecluster up $(ARGS)

## cluster-down: stop that cluster
cluster-down:
	@$(GO) run ./tests/cluster/cmd/kubecluster down $(ARGS)

## go-get: rehearse what a new user does: get a packed release, build the README's first program, run it
go-get:
	$(GO) test -count=1 -v -run '^TestGoGet$$' ./tests/e2e

## weight: what a hello-controller weighs: modules that are not ours, and bytes
weight:
	@cd examples && $(GO) test -count=1 -v -run '^TestWeight$$' ./hello-controller | grep -v -e '^=== ' -e '^--- '

## tools: build the pinned developer tools into .bin
tools: $(LINT)

$(LINT): tools/go.mod tools/go.sum
	@echo "building golangci-lint (minutes, the first time)"
	@mkdir -p .bin
	cd tools && GOWORK=off $(GO) build -o ../.bin/ tool
	@touch $@

## lint: format check, vet, go fix -diff and golangci-lint
lint: $(LINT)
	$(GO) vet work
	@diff=$$($(GO) fix -diff work) && test -z "$$diff" || { echo "$$diff"; echo "go fix has something to modernise: run make fix"; exit 1; }
	@for m in $(LIBRARIES); do \
		echo "lint $$m"; \
		(cd $$m && $(CURDIR)/$(LINT) fmt --diff && $(CURDIR)/$(LINT) run ./...) || exit 1; \
	done

## fix: let the formatters and fixers do what lint complains about
fix: $(LINT)
	$(GO) fix work
	@for m in $(LIBRARIES); do (cd $$m && $(CURDIR)/$(LINT) fmt) || exit 1; done

## generate: write all generated files anew
generate:
	@for m in $(LIBRARIES); do (cd $$m && $(GO) generate ./...) || exit 1; done

## tidy: write go.mod and go.sum of every module anew
tidy:
	@for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) mod tidy) || exit 1; done

## check: all that CI runs: tests, linters, generated files, tidy modules, core for wasip1, the demo
check: test lint check-clean wasip1 demo

# Generating and tidying must change nothing. It is told from a list of checksums, so that it also works in a tree with
# changes of its own.
check-clean:
	@before=$$(mktemp) after=$$(mktemp); trap 'rm -f $$before $$after' EXIT; \
	list() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null; }; \
	list > $$before; $(MAKE) --no-print-directory generate tidy; list > $$after; \
	diff $$before $$after > /dev/null || { echo "make generate tidy changes these; commit the result:"; \
		diff $$before $$after | sed -n 's/^> [0-9a-f]*  /  /p'; exit 1; }

wasip1:
	cd core && GOOS=wasip1 GOARCH=wasm $(GO) build ./...

## clean: remove built programs, tools and clusters
clean:
	rm -rf .cache .bin
