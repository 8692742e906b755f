# What needs more than one command of SwiftPM; other tools are scripts in deploy/ and Tests/Tools/.

SOURCES := Package.swift Sources Tests docs/produce/examples/process

.PHONY: release benchmarks man completions sim ledger fuzz format lint

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

# Built as the binary to install is, so that the counts are its own.
benchmarks:
	swift build $(RELEASE_OPTIONS) --product benchmarks

# The built binary, which prints its own help.
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

# `make sim SEED=7` runs one seed and prints everything that happens in it, `make sim RUNS=1000` that many new seeds.
sim: RUNS ?= 200
sim:
	HAREBELL_SIMULATION_SEED=$(SEED) HAREBELL_SIMULATION_RUNS=$(RUNS) \
		swift test --disable-xctest --filter SimulationTests/chosenSeeds

# `make ledger REQUESTS=20000`, `make ledger FAULT=APNs`.
ledger: REQUESTS ?= 100000
ledger:
	HAREBELL_LEDGER_REQUESTS=$(REQUESTS) HAREBELL_LEDGER_FAULT='$(FAULT)' ./deploy/test --filter LedgerTests

# Damaged inputs for everything that reads what others wrote; a failure prints its seed.
fuzz: INPUTS ?= 1000000
fuzz:
	HAREBELL_FUZZ_INPUTS=$(INPUTS) swift test --disable-xctest --filter 'Fuzz|/fuzz|/mutations'

format:
	swift format --in-place --parallel --recursive $(SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SOURCES)
	./Tests/Tools/tidy
