# Short names for what deploy/ and .ci/ do.

SOURCES := Package.swift Sources Tests docs/produce/examples/process

.PHONY: build release benchmarks bench man completions test sim ledger fuzz mutants soak chaos demo artefacts packages \
	dist format lint ci

build:
	swift build

# How the binary to install is built: with the standard library inside it runs without a Swift toolchain, faster and in
# less memory.
RELEASE_OPTIONS := -c release --static-swift-stdlib

# The binary does not depend on where and when it is built: see "Identical builds" in docs/internals/testing.md.
RELEASE_OPTIONS += -Xswiftc -file-prefix-map -Xswiftc "$(CURDIR)=." -Xcc "-ffile-prefix-map=$(CURDIR)=." \
	-Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs \
	-Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen

# Package.swift takes from here what `harebell --version` says of the commit.
release benchmarks: export HAREBELL_REVISION ?= $(shell ./Tests/Tools/revision)

release:
	swift build $(RELEASE_OPTIONS) --product harebell

# The benchmarks, built as the binary to install is, so that the counts are its own.
benchmarks:
	swift build $(RELEASE_OPTIONS) --product benchmarks

# What each step of a request's way costs, held against thresholds: `make bench`, `make bench ONLY=decode`.
bench:
	./Tests/Tools/bench $(ONLY)

# The built binary, which tells its own help.
HAREBELL := .build/release/harebell

# One page for each command, dated SOURCE_DATE_EPOCH or today, in .build/man: `man .build/man/harebell.1`.
man: release
	swift build --product generate-manual
	mkdir -p .build/man
	.build/debug/generate-manual $(HAREBELL) --multi-page --output-directory .build/man \
		--date $(shell date --utc --date="@$${SOURCE_DATE_EPOCH:-$$(date +%s)}" +%F)

# .build/completions/{harebell.bash,_harebell,harebell.fish}: each shell looks for a file of that name.
completions: release
	mkdir -p .build/completions
	$(HAREBELL) --generate-completion-script bash > .build/completions/harebell.bash
	$(HAREBELL) --generate-completion-script zsh > .build/completions/_harebell
	$(HAREBELL) --generate-completion-script fish > .build/completions/harebell.fish

test:
	./deploy/test

# The simulation: `make sim SEED=7` runs one seed and tells everything that happens in it, `make sim RUNS=1000` runs so
# many fresh seeds.
sim: RUNS ?= 200
sim:
	HAREBELL_SIMULATION_SEED=$(SEED) HAREBELL_SIMULATION_RUNS=$(RUNS) \
		swift test --disable-xctest --filter SimulationTests/chosenSeeds

# The ledger of faults: 100,000 requests under every class of them; `make ledger REQUESTS=20000`,
# `make ledger FAULT=APNs`.
ledger: REQUESTS ?= 100000
ledger:
	HAREBELL_LEDGER_REQUESTS=$(REQUESTS) HAREBELL_LEDGER_FAULT='$(FAULT)' ./deploy/test --filter LedgerTests

# Damaged inputs for everything that reads what others wrote; a failure tells its seed.
fuzz: INPUTS ?= 1000000
fuzz:
	HAREBELL_FUZZ_INPUTS=$(INPUTS) swift test --disable-xctest --filter 'Fuzz|ForeignFormatTests/mutations'

# Breaks one promise at a time and says whether a test notices: `make mutants`, `make mutants ONLY=ledger`.
mutants:
	./Tests/Tools/mutants $(ONLY)

# Whether memory stays level: `make soak COUNT=1000000 RATE=4000`.
soak: COUNT ?= 10000000
soak: RATE ?= 8000
soak:
	./Tests/Tools/soak $(COUNT) $(RATE)

# Faults of a cluster, one by one: `make chaos RELEASE=4.3`, `make chaos FAULT=leader RATE=200`. At random: `make chaos
# MINUTES=60 SEED=7`.
chaos:
	./Tests/Tools/chaos $(if $(RELEASE),--release $(RELEASE)) $(if $(FAULT),--fault $(FAULT)) \
		$(if $(RATE),--rate $(RATE)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

demo:
	./deploy/demo

artefacts:
	./Tests/Tools/check-artefacts

# The files of a release, in dist/: see Tests/Tools/dist. `packages` leaves the image out, which needs root.
dist:
	./Tests/Tools/dist

packages:
	./Tests/Tools/dist packages

format:
	swift format --in-place --parallel --recursive $(SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SOURCES)
	./Tests/Tools/tidy

ci:
	./.ci/run
