# Targets for contributors that the go command does not have. `make help` lists them.

SHELL       := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory

PLATFORM ?= OpenStack
NODES    ?= 3
# A cloud-controller-manager that is not built here: its binary, or an OCI archive or layout that has it.
export CCM CCM_IMAGE

BINARY  := cluster-cloud-controller-manager-operator
VERSION ?= $(or $(OS_GIT_VERSION),$(shell git describe --tags --always --dirty 2>/dev/null),unknown)
COMMIT  ?= $(or $(OS_GIT_COMMIT),$(shell git rev-parse HEAD 2>/dev/null),unknown)
TREE    ?= $(if $(OS_GIT_TREE_STATE),$(OS_GIT_TREE_STATE),$(if $(shell git status --porcelain 2>/dev/null),dirty,clean))
# The commit's date, not the build's: the same source yields the same bytes.
DATE    ?= $(shell git log -1 --format=%cI 2>/dev/null)

PKG     := github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version
# grpc's own tag for doing without golang.org/x/net/trace. That executes templates, which call methods by name, and where
# anything does so the linker keeps every method of every type: 28 MB. test/devcluster builds with it too.
TAGS    := grpcnotrace
# As in hack/modules.sh.
FLAGS   := -trimpath -gcflags=all=-dwarf=false
LDFLAGS := -s -w -X $(PKG).gitVersion=$(VERSION) -X $(PKG).gitCommit=$(COMMIT) -X $(PKG).gitTreeState=$(TREE) -X $(PKG).buildDate=$(DATE)

.DEFAULT_GOAL := help

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: ## start a development cluster with the operator in it, until Ctrl-C (PLATFORM=OpenStack|AWS|AzureStack|None|… NODES=3 CCM=path)
	@PLATFORM='$(PLATFORM)' NODES='$(NODES)' exec hack/run.sh

.PHONY: test
test: ## run every test: unit, golden, architecture, conformance, integration, end to end (needs root)
	@hack/test.sh

.PHONY: verify
verify: ## check format, vet, lint, races, architecture, modules and generated files
	@hack/verify.sh

.PHONY: bench
bench: ## measure render, start, size, memory, idle requests and rollout
	@hack/bench.sh

# The image-puller runs in the CCMs' images, which may have no C library, so it is built again without cgo.
.PHONY: build
build: ## build the operator into _output
	@mkdir -p _output
	@echo "==> building _output/$(BINARY) $(VERSION)"
	@go build $(FLAGS) -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o _output/ ./cmd/...
	@CGO_ENABLED=0 go build $(FLAGS) -ldflags '-s -w' -o _output/ ./cmd/image-puller

# Every architecture of a release. The first build of each compiles the standard library and all modules: minutes.
.PHONY: build-all
build-all:
	@for arch in amd64 arm64 ppc64le s390x; do \
		mkdir -p "_output/$$arch"; \
		CGO_ENABLED=0 GOARCH="$$arch" go build $(FLAGS) -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o "_output/$$arch/" ./cmd/...; \
		(cd _output && stat -c '%s %n' "$$arch"/*); \
	done

# openshift-tests extracts the programs from the image and decompresses them. -n: the same binary yields the same bytes.
# The name selects the tests: see test/ote.
.PHONY: tests-ext
tests-ext: ## build the tests for openshift-tests into _output
	@mkdir -p _output
	@echo "==> building _output/cloud-controller-manager-{operator,aws}-tests-ext.gz"
	@cd test/ote && go build $(FLAGS) -ldflags '$(LDFLAGS)' -o ../../_output/cloud-controller-manager-operator-tests-ext .
	@gzip -nf _output/cloud-controller-manager-operator-tests-ext
	@cp _output/cloud-controller-manager-{operator,aws}-tests-ext.gz

.PHONY: images
images: ## build local images into _output/images (Dockerfile.rhel is the product's build)
	@cd test/devcluster && go run ./cmd/devcluster images
	@echo "==> these images serve the development cluster; the product is built from Dockerfile.rhel"

.PHONY: vendor
vendor: ## fill vendor/ for a build without network
	@go mod vendor
	@cd test/ote && go mod vendor
	@go mod verify

.PHONY: update-golden
update-golden: ## rewrite the expected outputs of the tests and the generated files; read the diff before you commit it
	@hack/generate.sh
	@hack/update-golden.sh

# Not listed by help: parts of the targets above, and targets that take too long for everyday use.

.PHONY: generate
generate:
	@hack/generate.sh

# The build of a release without network, from vendor/ and from modules that were downloaded before.
.PHONY: hermetic
hermetic:
	@hack/hermetic.sh

.PHONY: lint
lint:
	@hack/lint.sh

.PHONY: mutation
mutation:
	@hack/mutation.sh

.PHONY: unwire
unwire:
	@hack/unwire.sh

# What no unit test notices, and the seeds and scenarios of test/simulation must.
.PHONY: mutants
mutants:
	@hack/unwire.sh --table hack/mutants.tsv

.PHONY: e2e-all
e2e-all:
	@hack/test.sh --long

# What happens to a cluster in its cloud: PLATFORM=AWS, Azure, AzureStack, External,
# OpenStack or vSphere. CCM=path runs that cloud-controller-manager instead of the built one.
.PHONY: e2e
e2e:
	@hack/e2e.sh $(PLATFORM)

# Changes that only the cloud can judge, with the real cloud-controller-manager.
.PHONY: preflights
preflights:
	@hack/e2e.sh $(PLATFORM) TestPreflights

# Lies of a cloud about its machines: PLATFORM=AWS, OpenStack or vSphere.
.PHONY: lies
lies:
	@hack/e2e.sh $(PLATFORM) TestTwentyLiesCostNoNode

# Goes back to the release of a former commit of this repository and forth again, twice: FROM=commit.
.PHONY: e2e-upgrade
e2e-upgrade:
	@cd test/e2e && FROM='$(FROM)' go test -count=1 -timeout=1h -v -run '^TestUpgradeFrom$$' .

# The whole operator in simulated time. SEEDS=1-30, KIND=busy-day or names of test/simulation/faults_test.go, DROP=2,3
# leaves out faults, and REDUCE=1 drops what a failure does not need. SEEDS=101 KIND=long-day plays one or two days of a
# cluster. HOURS=3000 goes on with the days of the record for as many simulated hours, in JOBS=2 processes (one for each
# core by default), or until the end of TIMEOUT=30m.
.PHONY: simulate
simulate:
	@SIMULATION_SEEDS='$(or $(SEEDS),1-10)' SIMULATION_KIND='$(KIND)' SIMULATION_DROP='$(DROP)' \
		SIMULATION_PLATFORM='$(PLATFORM)' SIMULATION_REDUCE='$(REDUCE)' SIMULATION_HOURS='$(HOURS)' SIMULATION_JOBS='$(JOBS)' \
		go test -count=1 -timeout $(or $(TIMEOUT),0) -v -run '^TestSeeds$$' ./test/simulation

# What test/simulation is compared with: five stories on a development cluster, in eleven minutes. Run it where nothing
# else runs, and read the diff.
.PHONY: transitions
transitions:
	@cd test/e2e && PROOF_DIR=../../test/simulation/testdata E2E_LONG=1 go test -count=1 -timeout=1h -v -run '^TestTransitions$$' .

# ROW is a regular expression of rows, SLOW=1 adds those of five minutes and more.
.PHONY: faults
faults:
	@hack/faults.sh '$(ROW)' '$(SLOW)'

.PHONY: proof
proof:
	@cd test/e2e && go run ./cmd/proof
