# Short names for what deploy/ and .ci/ do.

SOURCES := Package.swift Sources Tests

.PHONY: build release test sim demo format lint ci

build:
	swift build

# With the standard library inside the binary runs without a Swift toolchain, faster and in less memory; optimized across
# modules a message's way through them costs less.
release:
	swift build -c release --static-swift-stdlib -Xswiftc -cross-module-optimization --product harebell

test:
	./deploy/test

# The simulation: `make sim SEED=7` runs one seed and tells everything that happens in it, `make sim RUNS=1000` runs so
# many fresh seeds.
sim: RUNS ?= 200
sim:
	HAREBELL_SIMULATION_SEED=$(SEED) HAREBELL_SIMULATION_RUNS=$(RUNS) swift test --disable-xctest --filter SimulationTests/laws

demo:
	./deploy/demo

format:
	swift format --in-place --parallel --recursive $(SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SOURCES)

ci:
	./.ci/run
