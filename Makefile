# `make` prints this help. CI runs .ci/run, which runs `make test` and `make verify`: together they are `make check`.
#
# A line "## name: text" is the help of a target.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help
GO ?= go
export GO
# All builds have the flags of those of the built-in cluster, and so share the build cache with it, with each other and
# with all checkouts of this repository. Only the race detector needs cgo.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
export CGO_ENABLED := 0

MODULES := $(shell cat modules.txt)
# These modules are outside the workspace, because no other module needs their dependencies.
ALONE := bench tools tests/oracle
WORK := $(filter-out $(ALONE),$(MODULES))
# The supported versions of Kubernetes besides the default of the built-in cluster, with the tested patch releases.
# README.md lists them, too.
VERSIONS := v1.35.3 v1.36.3
# The tests of cluster and e2e start clusters; the others do not.
UNITS := $(patsubst %,./%/...,$(filter-out tests/cluster tests/e2e,$(WORK)))
# The packages of UNITS whose tests take longest with the race detector, the slowest first.
SLOWEST := $(addprefix ./,wasm/conformance wasm/host client runtime/manager runtime/fsm runtime/sharding runtime/webhook \
	runtime/reflector)
# The packages of UNITS that make race leaves to make no-race, because the race detector multiplies their long times.
# Tests of packages that use them from several goroutines run with it: derive/cmd/kube-derive, client,
# runtime/reflector, kubetest, wasm/host. Those of tests/differential compare packages that have such tests.
SEQUENTIAL := derive/generate derive/internal/load derive/internal/sample derive/internal/scaffold \
	core/internal/protobuf core/wire tests/differential wasm/internal/binary \
	$(addprefix kubetest/internal/,builtin defaults definition fields)

# Developer tools of others are pinned in tools/go.mod.
LINT := $(CURDIR)/.bin/golangci-lint
# Prints the output of `go test -json` as text, and lists the skipped tests.
REPORT := .bin/testreport

# The race detector leaves out decoders and compilers of WebAssembly modules, which would take minutes with it, and the
# parser and the type checker of Go. Packages that use sync.Map or generic types of sync/atomic can't be left out: the
# linker could take their instances for other packages, which would then seem to have races.
WAZERO := github.com/tetratelabs/wazero/internal
WITHOUT_RACE := $(addprefix $(WAZERO)/,engine/wazevo/ssa engine/wazevo/frontend engine/wazevo/backend/... wasm/binary leb128) \
	github.com/kube-go/sdk/wasm/internal/binary go/ast go/parser go/scanner go/token go/types
export RACE := -race $(foreach p,$(WITHOUT_RACE),-gcflags=$(p)=-race=false)
RACETEST := env -u CGO_ENABLED $(GO) test $(RACE)

# The tests run without go vet, since make lint runs it with all its checks.
# The end-to-end tests mostly wait, so more of them run at the same time than there are processors.
E2E := $(RACETEST) -json -vet=off -count=1 -timeout=60m -parallel=5

# The targets of `make test`, and the further targets of `make check`. None runs beside another: beside make race on
# two processors, end-to-end tests exceeded their limits. clusters is cluster-test beside e2e.
TEST := test-deps cluster-build race no-race clusters
LINTS := vet modern golangci arch hygiene
VERIFY := $(LINTS) fuzz check-clean wasip1 demo
# Makes each of the given targets, even after a failure, and prints the results at the end.
STEPS := MAKE='$(MAKE)' scripts/steps
# Reports the target that is not part of make check, with the reason.
ALSO := ; code=$$?; echo "  e2e-k3d      NOT RUN: it needs Docker and k3d"; exit $$code

# The programs of examples that make wasip1 builds as guests of a WebAssembly host.
GUESTS := hello-controller document-controller moose database

# omitempty has no effect on a struct. But Kubernetes' types use it everywhere, and our types have the same tags.
FIX := $(GO) fix -omitzero=false

.PHONY: help demo test unit race no-race test-deps cluster-build cluster-test e2e clusters e2e-versions e2e-k3d soak node-deps cluster-up \
	cluster-down wasm-guests go-get weight bench seeds tools lint vet modern golangci arch hygiene fix fuzz generate tidy check verify check-clean wasip1 clean

help:
	@echo "Start with make demo and make test."
	@echo
	@sed -n 's/^## \([a-z0-9-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'

## demo: start a real Kubernetes and watch a controller; KUBECONFIG=FILE uses that cluster instead; ARGS=-wait waits
demo:
	@cd examples && $(GO) run ./document-controller/demo $(ARGS)

## test: run all tests, nearly all with the race detector, also against a real API server; list those that can't run
test:
	@$(STEPS) $(TEST)

## unit: run the tests that need no cluster, without the race detector
unit: $(REPORT)
	$(GO) test -json $(UNITS) | $(REPORT)

## race: run the tests that need no cluster, with the race detector
race: test-deps
	@packages=$$($(GO) list $(UNITS) | grep -v $(foreach p,$(SEQUENTIAL),-e '/$(p)$$')) && \
		REPORT=$(REPORT) env -u CGO_ENABLED scripts/race $(SLOWEST) $$packages

# Runs the other tests that need no cluster: slow ones without concurrency, and those of the modules outside the
# workspace.
no-race: $(REPORT)
	@code=0; $(GO) test -json -vet=off $(addprefix ./,$(SEQUENTIAL)) | $(REPORT) || code=1; \
	for m in $(ALONE); do (cd $$m && GOWORK=off $(GO) test -vet=off ./...) || code=1; done; exit $$code

# Installs the system packages that some tests use, as root on Debian. Elsewhere, the report lists the tests without them.
# In CI, which sets KUBECLUSTER_NODE, a missing compiler of C is an error.
test-deps: $(REPORT)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		scripts/chromium > /dev/null || true; \
		scripts/wasm-guests > /dev/null || test "$$KUBECLUSTER_NODE" != 1; \
	fi

## cluster-test: run the tests of the built-in cluster; KUBECLUSTER_NODE=1 makes them fail if a node can't run
cluster-test: $(REPORT)
	$(RACETEST) -json -vet=off -p=1 -parallel=4 -timeout=20m ./tests/cluster/... | $(REPORT)

## e2e: run the end-to-end tests on the cluster of KUBECONFIG, or else on the built-in one
e2e: test-deps
	$(E2E) ./tests/e2e/... | $(REPORT)

# Runs the tests of cluster-test beside those of e2e, whose first minutes need one processor.
clusters: test-deps
	$(E2E) -p=2 ./tests/e2e ./tests/cluster/... ./tests/e2e/... | $(REPORT)

## e2e-versions: run the end-to-end tests on the other supported versions of Kubernetes; builds each version once
e2e-versions:
	@$(STEPS) $(VERSIONS:%=e2e-%)

# Runs the end-to-end tests on one version, such as e2e-v1.35.3. KUBECONFIG is unset, because it would take precedence.
e2e-v%: $(REPORT)
	@$(MAKE) --no-print-directory cluster-build ARGS='--kubernetes-version v$*'
	unset KUBECONFIG; E2E_KUBERNETES_VERSION=v$* $(E2E) ./tests/e2e ./tests/e2e/restore | $(REPORT)

## e2e-k3d: run the end-to-end tests on a k3d cluster; needs Docker and k3d
e2e-k3d:
	@MAKE='$(MAKE)' scripts/e2e-k3d

# The duration of make soak.
SOAK ?= 30m

## soak: cause random faults for 30 minutes, or SOAK=DURATION; then check that the use of memory has not grown
soak:
	E2E_SOAK=$(SOAK) $(RACETEST) -count=1 -timeout=0 -v -run '^TestSoak$$' ./tests/e2e

## go-get: follow the steps of a new user: get a packed release, build the README's first program, run it
go-get:
	$(GO) test -count=1 -v -run '^TestReadmeStepsWorkWithARelease$$' ./tests/e2e

## weight: print the number of foreign modules and the size of hello-controller, and the sizes of WebAssembly modules
weight:
	@$(GO) test -count=1 -v -run '^Test(ControllerStays|GuestsStay)Small$$' ./examples/hello-controller ./wasm/host | grep -v -e '^=== ' -e '^--- '

## bench: compare memory, CPU time and latency with client-go and controller-runtime; takes minutes; ARGS=-help
bench:
	@cd bench && GOWORK=off $(GO) run . $(ARGS)

## seeds: run 10,000 random worlds of the election, the sharding and the certificates of webhooks, and fewer of others
seeds:
	$(GO) test -count=1 -timeout=60m -v \
	  -run '^(TestTermsNeverOverlap|TestSlotsNeverHaveTwoOwners|TestHandshakesSucceedInEveryInterleaving)$$' \
	  ./runtime/election ./runtime/sharding ./runtime/webhook -args -seeds=10000
	$(GO) test -count=1 -timeout=60m -v -run '^TestObjectsAreReconciledInSpiteOfFaults$$' ./runtime/manager -args -seeds=100
	$(GO) test -count=1 -timeout=60m -run '^TestNoForeignChangeIsLostAndNoPageIsWrittenTwice$$' ./runtime/controller -args -seeds=1000

## wasm-guests: build the guests in C into .cache/wasm-guests; as root on Debian, install the compiler first
wasm-guests:
	@scripts/wasm-guests

## node-deps: install the system packages of a cluster with a node; needs root
node-deps:
	@tests/cluster/internal/node/deps.sh

## cluster-up: start a cluster that keeps running; ARGS=--node adds a node
cluster-up:
	@$(GO) run ./tests/cluster/cmd/kubecluster up $(ARGS)

## cluster-down: stop the cluster of cluster-up
cluster-down:
	@$(GO) run ./tests/cluster/cmd/kubecluster down $(ARGS)

# Builds the cluster's programs before the tests, so that the progress is visible and the time limits of tests do not
# apply: starting a cluster, which is stopped immediately, builds missing programs.
cluster-build:
	@$(GO) run ./tests/cluster/cmd/kubecluster up --name build-$$$$ $(if $(KUBECLUSTER_NODE),--node) $(ARGS) > /dev/null && \
		$(GO) run ./tests/cluster/cmd/kubecluster down --name build-$$$$ > /dev/null

## lint: check the code with go vet, go fix and golangci-lint, its format, its imports, and stray files
lint:
	@$(STEPS) $(LINTS)

vet:
	$(GO) vet work

modern:
	@$(FIX) -diff work || { echo "go fix has changes: run make fix" >&2; exit 1; }

golangci: $(LINT)
	@for m in $(MODULES); do \
		echo "lint $$m"; \
		(cd $$m; case " $(ALONE) " in *" $$m "*) export GOWORK=off;; esac; $(LINT) fmt --diff && $(LINT) run ./...) || failed="$$failed $$m"; \
	done; \
	test -z "$$failed" || { echo "golangci-lint found problems in$$failed: try make fix" >&2; exit 1; }

# Packages import only packages that tools/arch/imports.go allows.
arch:
	@cd tools && GOWORK=off $(GO) run ./arch ..

hygiene:
	@cd tools && GOWORK=off $(GO) run ./hygiene

## fix: apply the formatters and fixers of lint
fix: $(LINT)
	$(FIX) work
	@for m in $(MODULES); do (cd $$m && $(LINT) fmt) || exit 1; done

## fuzz: run every fuzz target for FUZZTIME, 2s by default
fuzz:
	@scripts/fuzz $(FUZZTIME)

## generate: regenerate all generated files
generate:
	@for m in $(WORK); do (cd $$m && $(GO) generate ./...) || exit 1; done

## tidy: tidy go.mod and go.sum of every module; each module replaces its siblings by their folders
tidy:
	@for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) mod tidy) || exit 1; done

## check: run all steps of CI: the tests, lint, fuzz, checks of generated files and go.mod, wasip1, the demo
check:
	@$(STEPS) $(TEST) $(VERIFY) $(ALSO)

# The steps of check after the tests.
verify:
	@$(STEPS) $(VERIFY) $(ALSO)

check-clean:
	@MAKE='$(MAKE)' scripts/check-clean

# core has no IO, so it also builds for systems without IO. In a program for wasip1, the host has the IO of the others.
wasip1:
	cd core && GOOS=wasip1 GOARCH=wasm $(GO) build ./...
	cd kube && GOOS=wasip1 GOARCH=wasm $(GO) build ./...
	@mkdir -p .bin
	@for program in $(GUESTS); do \
		(cd examples && GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -tags=nethttpomithttp2 -ldflags='-s -w' \
			-o ../.bin/$$program.wasm ./$$program) || exit 1; \
		printf '%-22s %9d bytes\n' $$program $$(wc -c < .bin/$$program.wasm); \
	done

## tools: build the pinned developer tools into .bin
tools: $(LINT) $(REPORT)

$(LINT): tools/go.mod tools/go.sum
	@echo "building golangci-lint (takes minutes the first time)"
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
