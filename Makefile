# `make` prints this help. CI runs .ci/run, which runs `make test` and `make verify`: together they are `make check`.
#
# A line "## name: what" is the help of a target.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help
GO ?= go
export GO

MODULES := $(shell cat modules.txt)
# These are outside the workspace, since their dependencies are nobody else's.
ALONE := tools tests/oracle
WORK := $(filter-out $(ALONE),$(MODULES))
# The older versions of Kubernetes that are supported, with the patch that is tested. README.md names them, too.
OLDER := v1.34.3 v1.35.3
# The tests of these start clusters, and the others do not.
UNITS := $(patsubst %,./%/...,$(filter-out tests/cluster tests/e2e,$(WORK)))

# Each developer tool that is not our own is pinned in tools/go.mod.
LINT := $(CURDIR)/.bin/golangci-lint
# Makes what `go test -json` prints readable, and names the tests that were skipped.
REPORT := .bin/testreport

# The end-to-end tests wait most of the time, so more of them run at once than there are processors.
E2E := $(GO) test -json -race -count=1 -timeout=30m -parallel=6

# What `make test` does, and what `make check` does after that. Each is a target of its own.
TEST := race cluster-build cluster-test e2e
LINTS := vet modern golangci arch hygiene
VERIFY := $(LINTS) fuzz check-clean wasip1 demo
# Makes the targets after it, whatever fails, and says at the end what became of each.
STEPS := MAKE='$(MAKE)' scripts/steps
# What none of them does, and why.
ALSO := ; code=$$?; echo "  e2e-k3d      NOT RUN: it needs Docker and k3d"; exit $$code

# It is right that omitempty does nothing for a struct. But Kubernetes' types have it all over, and ours have their tags.
FIX := $(GO) fix -omitzero=false

.PHONY: help demo test unit race cluster-build cluster-test e2e e2e-versions e2e-k3d node-deps cluster-up cluster-down go-get weight \
	tools lint vet modern golangci arch hygiene fix fuzz generate tidy check verify check-clean wasip1 clean

help:
	@echo "make demo and make test are the two to know."
	@echo
	@sed -n 's/^## \([a-z0-9-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'

## demo: start a real Kubernetes and watch a controller at work; KUBECONFIG=FILE uses that cluster instead
demo:
	@cd examples && $(GO) run ./document-controller/demo

## test: all tests with the race detector, those against a real API server among them; names those that can't run here
test:
	@$(STEPS) $(TEST)

## unit: the tests that need no cluster, without the race detector, for a quick look
unit: $(REPORT)
	$(GO) test -json $(UNITS) | $(REPORT)

## race: the tests that need no cluster, with the race detector
race: $(REPORT)
	$(GO) test -json -race $(UNITS) | $(REPORT)
	@for m in $(ALONE); do (cd $$m && GOWORK=off $(GO) test ./...) || exit 1; done

## cluster-test: the tests of the built-in cluster; KUBECLUSTER_NODE=1 makes it a failure if there can be no node
cluster-test: $(REPORT)
	$(GO) test -json -race -p=1 ./tests/cluster/... | $(REPORT)

## e2e: the end-to-end tests, on the cluster of KUBECONFIG or else the built-in one
e2e: $(REPORT)
	$(E2E) ./tests/e2e/... | $(REPORT)

## e2e-versions: the end-to-end tests on the older Kubernetes versions that are supported; builds each of them once
e2e-versions:
	@$(STEPS) $(OLDER:%=e2e-%)

# The end-to-end tests on one version, such as e2e-v1.34.3. KUBECONFIG would take precedence.
e2e-v%: $(REPORT)
	@$(MAKE) --no-print-directory cluster-build ARGS='--kubernetes-version v$*'
	unset KUBECONFIG; E2E_KUBERNETES_VERSION=v$* $(E2E) ./tests/e2e | $(REPORT)

## e2e-k3d: the end-to-end tests on a k3d cluster; needs Docker and k3d
e2e-k3d:
	@MAKE='$(MAKE)' scripts/e2e-k3d

## go-get: rehearse what a new user does: get a packed release, build the README's first program, run it
go-get:
	$(GO) test -count=1 -v -run '^TestGoGet$$' ./tests/e2e

## weight: what a hello-controller weighs: modules that are not ours, and bytes
weight:
	@cd examples && $(GO) test -count=1 -v -run '^TestWeight$$' ./hello-controller | grep -v -e '^=== ' -e '^--- '

## node-deps: install what a cluster with a node needs of the system; needs root
node-deps:
	@tests/cluster/internal/node/deps.sh

## cluster-up: start a cluster that stays up; ARGS=--node adds a node
cluster-up:
	@$(GO) run ./tests/cluster/cmd/kubecluster up $(ARGS)

## cluster-down: stop that cluster
cluster-down:
	@$(GO) run ./tests/cluster/cmd/kubecluster down $(ARGS)

# Builds the cluster's programs where one sees it, and where it does not count towards the time that a test may take:
# starting a cluster, which is stopped at once, builds what is missing.
cluster-build:
	@$(GO) run ./tests/cluster/cmd/kubecluster up --name build-$$$$ $(if $(KUBECLUSTER_NODE),--node) $(ARGS) > /dev/null && \
		$(GO) run ./tests/cluster/cmd/kubecluster down --name build-$$$$ > /dev/null

## lint: check the code with go vet, go fix and golangci-lint, its format, its imports, and stray files
lint:
	@$(STEPS) $(LINTS)

vet:
	$(GO) vet work

modern:
	@$(FIX) -diff work || { echo "there is something to modernise: run make fix" >&2; exit 1; }

golangci: $(LINT)
	@for m in $(MODULES); do \
		echo "lint $$m"; \
		(cd $$m; case " $(ALONE) " in *" $$m "*) export GOWORK=off;; esac; $(LINT) fmt --diff && $(LINT) run ./...) || failed="$$failed $$m"; \
	done; \
	test -z "$$failed" || { echo "golangci-lint complains about$$failed; make fix may help" >&2; exit 1; }

# Each package imports only what tools/arch/imports.go allows.
arch:
	@cd tools && GOWORK=off $(GO) run ./arch ..

hygiene:
	@cd tools && GOWORK=off $(GO) run ./hygiene

## fix: let the formatters and fixers do what lint complains about
fix: $(LINT)
	$(FIX) work
	@for m in $(MODULES); do (cd $$m && $(LINT) fmt) || exit 1; done

## fuzz: run every fuzz target for FUZZTIME, 3s by default
fuzz:
	@scripts/fuzz $(FUZZTIME)

## generate: write all generated files anew
generate:
	@for m in $(WORK); do (cd $$m && $(GO) generate ./...) || exit 1; done

## tidy: write go.mod and go.sum of every module anew; each stands alone, with its siblings replaced by their folders
tidy:
	@for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) mod tidy) || exit 1; done

## check: all that CI runs: the tests, then lint, fuzz, generated files and go.mod as they should be, wasip1, the demo
check:
	@$(STEPS) $(TEST) $(VERIFY) $(ALSO)

# What is left of check when the tests have run.
verify:
	@$(STEPS) $(VERIFY) $(ALSO)

check-clean:
	@MAKE='$(MAKE)' scripts/check-clean

# core has no IO of its own, so it runs where there is none.
wasip1:
	cd core && GOOS=wasip1 GOARCH=wasm $(GO) build ./...

## tools: build the pinned developer tools into .bin
tools: $(LINT) $(REPORT)

$(LINT): tools/go.mod tools/go.sum
	@echo "building golangci-lint (minutes, the first time)"
	@mkdir -p .bin
	cd tools && GOWORK=off $(GO) build -o ../.bin/ tool
	@touch $@

$(REPORT): tools/testreport/main.go
	@mkdir -p .bin
	@cd tools && GOWORK=off $(GO) build -o ../.bin/ ./testreport

## clean: remove built programs, tools and clusters
clean:
	@for dir in .cache/kubecluster/clusters/*/; do \
		if [ -d "$$dir" ]; then $(GO) run ./tests/cluster/cmd/kubecluster down --name $$(basename "$$dir") || exit 1; fi; \
	done
	rm -rf .cache .bin
