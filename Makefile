# make run    starts the service on http://127.0.0.1:8080
# make test   runs every test: on SQLite, on Postgres, against other programs, in a browser
# make pack   makes the React package, as a file to install
# make example NAME=vite   starts an example of web/examples with the service: vite, next, script-tag
# make screens  takes the pictures of docs/screenshots and checks every state of the tray
# make perf   measures the tray, and writes docs/tray-speed.md
# make soak   puts a mixed load on both databases for half an hour
# make release-check  builds a release for all systems and checks it
# make check  is what CI runs first: format, lint, modules, tests with the race detector, generated files, known vulnerabilities

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

LINT_VERSION := v2.15.0
VULN_VERSION := v1.8.0
RELEASER_VERSION := v2.16.0
LINT := bin/golangci-lint-$(LINT_VERSION)
RELEASER := bin/goreleaser-$(RELEASER_VERSION)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
# With RACE=1 the race detector watches the tests, which then take three times as long:
# make check and CI set it. It needs cgo, and with it a C compiler. It does not watch
# SQLite, which is translated from C and has its own locks.
RACE ?=
DETECTOR = $(if $(RACE),$(if $(filter 1,$(shell go env CGO_ENABLED)),-race -gcflags=modernc.org/...=-race=false))

# Many tests mostly wait, so more of them run at once than there are processors.
TOGETHER := -p 4 -parallel 4

# Chromium that root starts puts itself before all other programs, which then wait. Without
# this right it does not.
FAIR := $(shell [ "$$(id -u)" != 0 ] || ! setpriv --bounding-set -sys_nice true 2>/dev/null || echo setpriv --bounding-set -sys_nice)

# What is compiled is the same in every folder, so a new clone or worktree takes what another
# on this machine has compiled. Flags that are set already, also by "go env -w", remain.
export GOFLAGS := $(shell go env GOFLAGS 2>/dev/null) -trimpath

# What a lock file names has a checksum, so a package that npm has kept is not asked for again.
NPM_CI := npm ci --ignore-scripts --prefer-offline --no-audit --no-fund

# Tests make many small files and databases. In a folder in memory, if there is one with
# room, that takes a fifth less time.
IN_MEMORY := $(shell $(dir $(firstword $(MAKEFILE_LIST))).ci/in-memory)
test-go test-postgres postgres-store postgres-outage postgres-service mcp-everything wire-clients contract-clients: export TMPDIR := $(or $(IN_MEMORY),$(TMPDIR),/tmp)

# A service sets the target of its collector, and each of hundreds in the process of the
# tests collects at its start: a quarter of their processor time. It keeps a target that is
# set. A program that tests start in a process of its own does not get this one.
test-go test-postgres postgres-store postgres-outage postgres-service mcp-everything wire-clients: export GOGC = 300

# Released programs are built without cgo. Without it a program of tests is also linked in
# three quarters of the time. Only the race detector needs it.
test-go test-postgres postgres-store postgres-outage postgres-service mcp-everything wire-clients contract-clients web-browser: export CGO_ENABLED = $(if $(RACE),,0)

# "go test" would also vet what it builds, and everything that uses: on a new machine a
# twentieth of the time. make check does it once.
test-go test-postgres postgres-store postgres-outage postgres-service mcp-everything wire-clients: export GOFLAGS := $(GOFLAGS) -vet=off

.PHONY: run pack example example-service build setup test test-go test-others test-postgres postgres-store postgres-outage postgres-service crash-test cluster-test mcp-everything wire-clients contract-clients web web-check web-test web-units web-react18 web-browser screens perf check lint fmt tidy vet generated vuln bench bench-check bench-memory bench-growth soak release-check clean

run:
	go run .

build:
	CGO_ENABLED=0 go build -ldflags "-s -w -X github.com/chattray/chattray/app.release=$(VERSION)" -o bin/chattray .

# Targets have tests that run at once and also wait, so three fill two cores. The browser's come
# late: a page that is open takes processor time also while its test waits for others. What
# uses one core runs beside them.
test: setup
	$(MAKE) --no-print-directory --jobs=3 --output-sync BOTH=1 wire-clients test-go test-others

# All tests but test-go.
test-others: wire-clients test-postgres web-browser mcp-everything contract-clients web-test

# Installs what the tests need, or says what is missing.
setup:
	.ci/setup

# The tests of the service that depend on their database, the longest first.
SERVICE := ./app/transcripts ./app/replicas ./app/crash ./app/sockets ./app/endtoend ./app/storedlogs ./app/upgrades ./app/soak ./app/backups ./app/resume

# With BOTH=1, as in make test, test-postgres runs its packages on both databases, and test-go
# leaves them out: a program of tests that has the whole service is linked once, not twice.
BOTH ?=
TEST_ON = $(if $(BOTH),.ci/with-postgres go test $(DETECTOR) -shuffle=on -exec "'$(CURDIR)/.ci/each-database'",TEST_DATABASES=postgres .ci/with-postgres go test)

test-go:
	packages=$(if $(BOTH),$$(go list ./... | grep -vxF "$$(go list ./store/... ./app/outage $(SERVICE))"),./...); \
	go test $(DETECTOR) $(TOGETHER) -shuffle=on -timeout 20m $$packages

# Runs on Postgres what test-go runs on SQLite: the store, and the tests of the service
# that depend on their database.
test-postgres: postgres-service postgres-store postgres-outage

postgres-service:
	$(TEST_ON) -p 2 -parallel 4 -count=1 -timeout 40m $(SERVICE)

postgres-store:
	.ci/with-postgres go test $(DETECTOR) $(TOGETHER) -shuffle=on -count=1 -timeout 20m $(if $(BOTH),,-run Postgres) ./store/...

# These suspend their server, so they have one of their own.
postgres-outage:
	$(TEST_ON) -parallel 4 -count=1 -timeout 40m ./app/outage

# Kills the program 500 times on each database, and one of several processes 300 times.
crash-test:
	.ci/with-postgres go test -count=1 -timeout 60m -run 'TestKilled$$' ./app/crash -args -kills 500
	.ci/with-postgres go test -count=1 -timeout 60m -run 'TestKilled$$' ./app/replicas -args -kills 300
	.ci/with-postgres go test -parallel 8 -count=1 -timeout 90m -run TestFaults ./app/outage -args -faults 1

# An earlier program that can be one of several processes: two releases serve one database.
EARLIER ?= b7eccc26
bin/chattray-earlier:
	dir=$$(mktemp -d) && git archive $(EARLIER) | tar -x -C $$dir && cd $$dir && go build -o $(CURDIR)/$@ . && rm -rf $$dir

# The long form of the tests of several processes, and what several processes cost.
cluster-test: bin/chattray-earlier
	.ci/with-postgres go test -count=1 -timeout 60m ./app/replicas -args -kills 300 -points 20 -restarts 30 -clients 200 -earlier $(CURDIR)/bin/chattray-earlier
	.ci/with-postgres go test -count=1 -timeout 20m -v -run 'TestKilled$$|TestTakeoverFigures$$' ./app/replicas -args -kills 50 -figures -lease 500ms
	.ci/with-postgres go test -count=1 -timeout 20m -v -run 'Figures$$' ./app/replicas -args -figures

# Tests against the Model Context Protocol's own test server; they need node.
mcp-everything: tools/mcp/everything/node_modules
	go test $(DETECTOR) -tags everything -count=1 -timeout 20m -run Everything ./app/endtoend ./tools/mcp

# Tests with unmodified clients of other protocols, at exact versions; they need node.
wire-clients: api/wires/clients/node_modules api/wires/clients/runtime/node_modules examples/ai-sdk/node_modules examples/copilotkit/node_modules
	$(FAIR) go test -tags wireclients -parallel 4 -count=1 -timeout 40m ./app/wireclients

api/wires/clients/node_modules api/wires/clients/runtime/node_modules examples/ai-sdk/node_modules examples/copilotkit/node_modules tools/mcp/everything/node_modules: %/node_modules: %/package.json %/package-lock.json
	cd $* && $(NPM_CI)
	touch $@

# Code that others generate from the contract: a Go client here, TypeScript types in web-check.
contract-clients:
	.ci/contract-clients

# The React package and the page. The files in web/dist are committed, so that the
# service is built without Node.
web: web/node_modules
	cd web && npm run generate && npm run build

# The React package as a file for "npm install": bin/chattray-react.tgz.
pack: web/node_modules
	mkdir -p bin && rm -f bin/chattray-react*.tgz
	cd web && npm pack --silent --pack-destination ../bin
	mv bin/chattray-react-*.tgz bin/chattray-react.tgz

NAME ?= vite
example: export PORT ?= 5173
example: export CHATTRAY_ADDR ?= 127.0.0.1:8080
example: export SERVICE_URL ?= http://$(CHATTRAY_ADDR)
example: pack example-service
	cd web/examples/$(NAME) && npm install --no-audit --no-fund --no-package-lock
	bin/chattray & service=$$!; trap "kill $$service 2>/dev/null || :" EXIT; \
	until (: </dev/tcp/$${CHATTRAY_ADDR%:*}/$${CHATTRAY_ADDR##*:}) 2>/dev/null; do kill -0 $$service; sleep 0.1; done; \
	cd web/examples/$(NAME) && npm run dev

# Without the options of a release, so that it shares what "make run" has compiled.
example-service:
	go build -o bin/chattray .

web/node_modules: web/package.json web/package-lock.json
	cd web && $(NPM_CI)
	touch $@

# Checks lint and types, and that the committed page equals a new build.
web-check: web/node_modules
	cd web && npm run lint && npm run types
	@before=$$(git status --porcelain web | sha256sum); $(MAKE) --no-print-directory web; \
	[ "$$before" = "$$(git status --porcelain web | sha256sum)" ] || { git status --short web; echo "web/dist or the types are out of date: make web" >&2; exit 1; }

# Components and reducers on both versions of React, then the page in Chromium against the service.
web-test: web-units web-react18 web-browser

web-units: web/node_modules
	cd web && npm test

web-react18: web/node_modules
	cd web && npm run test:react18

web-browser: web/node_modules
	cd web && $(FAIR) npm run e2e

# The pictures of docs/screenshots, and what axe finds in every state, look and size.
# SCREENS, LOOKS and SIZES select some: make screens LOOKS=dark SIZES=360,1440
screens: web/node_modules
	cd web && $(FAIR) npm run screens
	cd web && $(FAIR) npm run screens -- ../bin/screens
	cp bin/screens/axe.md docs/screenshots/axe.md

# Frames of an answer of 20,000 tokens, and the sizes of the package. It fails above the
# limits, so run it on a machine with nothing else to do.
perf: web/node_modules
	cd web && npm run perf -- ../docs/tray-speed.md

check: RACE = 1
check: tidy vet lint test-go generated web-check vuln

lint: $(LINT)
	$(LINT) run ./...

fmt: $(LINT)
	$(LINT) fmt ./...

$(LINT):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv bin/golangci-lint $@

tidy:
	go mod tidy -diff

vet:
	go vet ./...

# Fails if generating changes a file; other changes in the tree do not matter.
generated:
	@before=$$(git diff | sha256sum); go generate ./...; \
	[ "$$before" = "$$(git diff | sha256sum)" ] || { git diff --stat; echo "generated files are out of date" >&2; exit 1; }

# The database of vulnerabilities is on the network. If it cannot be reached, the
# target says so and succeeds.
vuln:
	@if out=$$(go run golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION) ./... 2>&1); then echo "no known vulnerabilities"; \
	elif grep 'fetching vulnerabilities' <<<"$$out"; then echo "known vulnerabilities: not checked, their database cannot be reached"; \
	else echo "$$out"; exit 1; fi

bench:
	go test -run '^$$' -bench . -benchmem ./...

# Fails if a benchmark allocates or stores more than .ci/bench-limits allows.
bench-check:
	.ci/bench-check

# Measures the memory that stalled readers and large answers need.
bench-memory:
	go test -tags memory -run '^$$' -bench Memory -benchtime 1x -timeout 20m ./app

# Fails if a request to a service with 1,000,000 messages takes more than twice as
# long as one to a service with 1,000, on either database.
bench-growth:
	.ci/with-postgres go test -tags growth -count=1 -v -timeout 30m ./app/growth

# A mixed load on both databases for half an hour, or SOAK=2m; then nothing may have failed
# or be left over.
SOAK ?= 30m
soak: build
	.ci/with-postgres go test -count=1 -timeout 0 -v -run 'TestSoak$$' ./app/soak -args -program $(CURDIR)/bin/chattray -for $(SOAK)

# Builds all files of a release in bin/release and checks them; nothing is published.
release-check: $(RELEASER)
	RELEASER=$(RELEASER) .ci/release-check

$(RELEASER):
	GOBIN=$(CURDIR)/bin go install github.com/goreleaser/goreleaser/v2@$(RELEASER_VERSION)
	mv bin/goreleaser $@

clean:
	rm -rf bin
