# Short names for what deploy/ and .ci/ do.

SOURCES := Package.swift Sources Tests

.PHONY: build release test demo format lint ci

build:
	swift build

# With the standard library inside: the binary runs without a Swift toolchain, faster and in less memory.
release:
	swift build -c release --static-swift-stdlib --product harebell

test:
	./deploy/test

demo:
	./deploy/demo

format:
	swift format --in-place --parallel --recursive $(SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SOURCES)

ci:
	./.ci/run
