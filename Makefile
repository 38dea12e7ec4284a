# Each target is a thin line over cargo or a script; `make help` lists the targets.
#
# Variables: PREFIX, DESTDIR, UNITDIR for install; SECONDS_PER_TARGET for fuzz; KERNELS for test-vm; ATLAS_PORT for atlas;
# CARGO_TARGET_DIR.

PREFIX ?= /usr/local
UNITDIR ?= $(PREFIX)/lib/systemd/system
SECONDS_PER_TARGET ?= 60
KERNELS ?= 6.12 6.1

CARGO := scripts/cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# Cargo unifies features over the packages it builds: another choice of packages would rebuild the dependencies. So there
# are only two choices, the router (`default-members` in Cargo.toml) and all, and tests/Cargo.toml gives both the same
# features. Targets and names select what runs.
WORKSPACE := --locked
ALL := --workspace --locked
# Tests that make namespaces need root; cargo hands each test program to this command.
ROOT_RUNNER := CARGO_TARGET_$(shell uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_RUNNER=$(CURDIR)/scripts/test-program
SHELL_SCRIPTS := $(wildcard scripts/*) docs/tutorials/network.sh .ci/run tests/vm/run tests/netns/setup_debian/systemd.sh products/nearby/tests/lab/bench packaging/debian/reload_config $(wildcard packaging/openwrt/files/*.init)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup setup-demo build web web-test products atlas-test test test-long test-affected affected tree test-vm lint lint-release compile unit system-short routers routers-alone programs golden waiting compilers demo atlas build-atlas build-nearby bench atlas-bench day fuzz fuzz-short vm-short vm-wires vm-more vm-oldest vm-air instructions instructions-record paths uci-peer install clean
MAKEFLAGS += --no-print-directory

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '  %-11s %s\n' "$$name" "$$text"; done

setup: ## install missing tools for building and testing (Debian; root or sudo)
	@scripts/setup

setup-demo: ## install missing tools for the demonstration only
	@scripts/setup --demo

# Each program is optimised as a whole, which takes a minute on a small machine: build only the programs in use.
PROGRAMS := weir

build: web/dist/index.html ## build target/release/weir, with the web page
	$(CARGO) build --release $(WORKSPACE) $(addprefix --bin ,$(PROGRAMS))

test: ## run the most informative tests in a quarter of an hour: setup, lint, the page in a browser, the crates, a few routers
	@MAKE='$(MAKE)' scripts/stages setup web lint+web-test+compile unit system-short

# Stages that must run alone come first. Then the longest: routers wait for half of their time, and two rows of them run beside
# stages without deadlines. Compilers and emulators are in the kernel's idle class, as they hold no kernel locks: with a
# low priority alone they delayed tasks that woke up. A virtual machine beside them was late for leases and beacons.
IDLE := chrt --idle 0
LONG := routers-alone routers+waiting/programs/golden+fuzz-short/instructions/compilers/uci-peer/lint-release \
	vm-more,products,vm-wires,vm-air,atlas-test,vm-oldest

test-long: setup ## run all other tests: every system test, every compiler, a little fuzzing, some tests in a VM
	@MAKE='$(MAKE)' scripts/stages compile $(LONG)

test-affected: setup ## run the parts of `test-long` that concern changes since the commit in .ci/verified
	@scripts/affected
	@packages=$$(scripts/affected --packages) && routers=$$(scripts/affected --routers) && \
		stages=$$(scripts/affected --of '$(LONG)') && \
		AFFECTED="$$(echo $$packages)" ROUTERS_OF="$$(echo $$routers)" MAKE='$(MAKE)' scripts/stages compile $$stages

affected: ## list the parts that `test-affected` runs, and why
	@scripts/affected

tree: ## print figures of the source tree: lines, import cycles, spread types
	@$(CARGO) build --quiet $(WORKSPACE) --bin tree && $(TARGET_DIR)/debug/tree

test-vm: setup ## run the whole VM list on each kernel of KERNELS
	@for kernel in $(KERNELS); do \
		scripts/vm --kernel $$kernel -- bash -c '$(TARGET_DIR)/debug/bench verifier' || exit 1; \
		tests/vm/run --kernel $$kernel all || exit 1; \
		tests/vm/run --kernel $$kernel --package products/nearby all || exit 1; done

# The programs of each compiler, without warnings.
OBJECTS := $(TARGET_DIR)/objects/.made

$(OBJECTS): $(shell find bpf -type f) scripts/lint-bpf scripts/compilers Cargo.lock
	scripts/lint-bpf
	@touch $@

lint: $(OBJECTS) ## check formatting, warnings of the BPF sources, shell scripts, English; clippy is part of `compile`
	$(CARGO) fmt --all --check
	shellcheck $(SHELL_SCRIPTS)
	scripts/lint-prose

# One build: features that only tests need would otherwise build a crate and its dependents twice. The compiler is
# clippy's (scripts/cargo), so this is the lint as well. The browser of `web-test` runs beside it, waits most of the time, and
# has priority otherwise.
compile: ## build the tests, and the binaries they run; fail on clippy warnings
	nice -n 15 scripts/no-warnings $(CARGO) build $(WORKSPACE) --all-targets

# Checks release builds, without features of dependencies that only tests need; and weir without features. The compiler
# and flags equal those of `compile`: others would rebuild build scripts and everything that depends on them.
lint-release: ## check for warnings with the features of a release, and without features
	$(IDLE) scripts/no-warnings $(CARGO) check $(WORKSPACE) --bins
	$(IDLE) scripts/no-warnings $(CARGO) check --locked -p weir --no-default-features

unit: ## run the tests inside the crates
	$(ROOT_RUNNER) $(CARGO) test $(WORKSPACE) --lib --bins --no-fail-fast
	$(CARGO) test $(WORKSPACE) --doc

# Test programs of packages: names of test targets that jq selects by $own, whether a package is the router's.
test_targets = $$($(CARGO) metadata --locked --no-deps --format-version 1 | jq -r --arg affected ' $(AFFECTED) ' \
	'.workspace_default_members as $$router | [.packages[] | (.id | IN($$router[])) as $$own | .name as $$name | \
		select($1).targets[] | select(.kind == ["test"]).name] | unique - ($$ARGS.positional) | .[]' --args $2)

# Needs `compile`, which builds the crates that products share with the router.
products: web/dist-atlas/atlas.css web/dist-nearby/page.js ## build weir-atlas and weir-nearby, and run their tests; fail on clippy warnings
	scripts/same-features
	nice -n 15 scripts/no-warnings $(CARGO) build $(ALL) --all-targets
	TESTS_OF=products $(ROOT_RUNNER) $(CARGO) test $(ALL) --lib --bins --no-fail-fast
	@tests=$(call test_targets,$$own | not) || exit; \
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(ALL) $$(printf -- '--test %s ' $$tests) --no-fail-fast -- --test-threads=2

# Tests of whole routers are one program, tests/netns, selected by module names; other tests have their own programs. `routers`
# runs a list of modules, or all but some: ROUTERS with options of the test program.
ROUTERS = $(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) --test routers --no-fail-fast --

# The cores and parsers; then a router that agrees with the kernel packet by packet, outlives its daemon, says what is
# wrong with its configuration, and keeps its page to those who may see it.
SHORT := datapath kernel offload program server web
SHORT_ROUTERS := oracle:: failopen::

system-short: ## run the most informative kernel tests in two minutes
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) $(addprefix --test ,$(SHORT)) --no-fail-fast -- --test-threads=2 --skip=golden::
	$(ROUTERS) --test-threads=2 $(SHORT_ROUTERS)

# Modules that mostly wait for timeouts and events: two of their tests at a time used less than a third of
# two processors (scripts/system-tests shows it). So three run at a time, beside all others.
WAITING := setup traffic
WAITING_ROUTERS := bench:: bridging:: cables:: counters:: detect:: duplicates:: expiry:: leak:: page:: parity:: portal:: \
	ports_auto:: setup:: setup_debian:: uplinks:: wires::

# Modules of this list that ROUTERS_OF names, or all.
of = $(if $(ROUTERS_OF),$(foreach one,$1,$(if $(filter $(firstword $(subst ::, ,$(one)))::,$(ROUTERS_OF)),$(one))),$1)

waiting: ## run system tests that mostly wait
	$(if $(call of,$(WAITING_ROUTERS)),$(ROUTERS) --test-threads=3 $(call of,$(WAITING_ROUTERS)))
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) $(addprefix --test ,$(WAITING)) --no-fail-fast -- --test-threads=3

# Modules that need a processor on demand: floods, and comparisons with the kernel or with a deadline.
ALONE_ROUTERS := flood:: multipath::experiment:: changes::silent_changes::

OTHER_ROUTERS = $(filter-out $(SHORT_ROUTERS) $(WAITING_ROUTERS) $(ALONE_ROUTERS),$(ROUTERS_OF))

# Two at a time: each builds routers in namespaces, and shares the processors with their traffic.
routers: ## run tests of whole routers that neither `system-short` nor `waiting` runs
	$(if $(or $(OTHER_ROUTERS),$(if $(ROUTERS_OF),,all)),$(ROUTERS) --test-threads=2 $(OTHER_ROUTERS) \
		$(addprefix --skip=,$(SHORT_ROUTERS) $(WAITING_ROUTERS) $(ALONE_ROUTERS)))

routers-alone: ## run tests of whole routers that need both processors
	$(if $(call of,$(ALONE_ROUTERS)),$(ROUTERS) --test-threads=1 $(call of,$(ALONE_ROUTERS)))

# Limited to AFFECTED packages, if set.
programs: ## run all other test programs: the command line, golden packets, parsers
	@tests=$(call test_targets,$$own and ($$affected == "  " or ($$affected | contains(" " + $$name + " "))),routers $(SHORT) $(WAITING)) || exit; \
	[ -z "$$tests" ] || $(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) $$(printf -- '--test %s ' $$tests) \
		--no-fail-fast -- --test-threads=2

golden: ## send single packets through the programs of the packet path
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) --test datapath --no-fail-fast -- --test-threads=2 golden::

# Golden packets that load one program after the other; random frames go through all programs.
compilers: $(OBJECTS) ## load the programs of every other compiler that scripts/compilers names, and run frames through them
	@for compiler in $$(scripts/compilers | tail -n +2); do \
		echo "-- the programs of $$compiler"; \
		WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(ROOT_RUNNER) \
			nice -n 15 $(CARGO) test $(WORKSPACE) --test datapath --no-fail-fast -- \
			parser::mangled_frames_ parser::random_ golden::forwarding:: golden::encapsulations:: golden::checksums:: golden::witness:: \
			--test-threads=2 || exit 1; done

uci-peer: ## compare `weir uci` with libuci's own program
	WEIR_UCI_PEER=$$(scripts/uci-peer) nice -n 15 $(CARGO) test $(WORKSPACE) --test program -- uci:: uci_peer:: --include-ignored --nocapture

demo: PROGRAMS += demo
demo: setup-demo build ## show how weir takes over a router, in namespaces, with figures
	scripts/as-root $(TARGET_DIR)/release/demo

build-nearby: web/dist-nearby/page.js ## build target/release/weir-nearby, with its page
	$(CARGO) build --release $(ALL) --bin weir-nearby

build-atlas: web/dist-atlas/atlas.css ## build target/release/weir-atlas, with its pages
	$(CARGO) build --release $(ALL) --bin weir-atlas

# Not a release build: that takes minutes, and importing this data takes some seconds without it.
atlas: setup-demo web/dist-atlas/atlas.css ## import thirteen years of a community's directory, serve them as charts, and open the page
	$(CARGO) build $(ALL) --bin weir-atlas
	@scripts/atlas $(TARGET_DIR)/debug/weir-atlas $(TARGET_DIR)/atlas-data $(ATLAS_PORT)

# Measurements, before they are put into the documentation.
MEASURED := $(TARGET_DIR)/measured
BENCH := scripts/as-root $(TARGET_DIR)/release/bench --json $(MEASURED)

bench: PROGRAMS += bench drops
bench: setup build ## measure against the kernel's own path: the closed loop, single programs, the daemon, the monitor, several uplinks; write docs/performance.md
	@scripts/setup --bench
	@mkdir -p $(MEASURED)
	scripts/as-root $(TARGET_DIR)/release/weir bench lab --json > $(MEASURED)/lab.json
	scripts/as-root $(TARGET_DIR)/release/bench trust
	$(BENCH)/programs.json programs
	$(BENCH)/daily.json daily
	$(BENCH)/meter.json meter
	$(BENCH)/meter-path.json meter --path --seconds 1
	$(BENCH)/meter-offload.json meter --offload --flows 10,400,10000
	$(BENCH)/meter-daemon.json meter --daemon --flows 0,10,400,10000,65536
	$(BENCH)/lemon.json lemon
	$(BENCH)/portal.json portal
	$(BENCH)/multipath.json multipath
	$(BENCH)/uplinks.json uplinks
	$(BENCH)/connections.json connections
	$(TARGET_DIR)/release/bench record $(MEASURED)/*.json

atlas-bench: setup ## measure the atlas on ten years of hourly data, beside DuckDB and ClickHouse; write docs/reference/atlas-performance.md
	$(CARGO) bench $(ALL) --bench atlas -- --write $(CURDIR)/docs/reference/atlas-performance.md

day: PROGRAMS += bench
day: setup build ## compare a simulated day with the kernel alone, in an hour: idle, dead, roaming, expiring and used-up state must match
	scripts/as-root $(TARGET_DIR)/release/bench day

fuzz: ## fuzz every target for SECONDS_PER_TARGET
	scripts/fuzz --seconds $(SECONDS_PER_TARGET)

fuzz-short: ## fuzz every target for 4 seconds
	$(IDLE) scripts/fuzz --seconds 4

vm-short: vm-wires vm-more ## run the tests of `test-long` in virtual machines on kernel 6.12

vm-wires: ## test encapsulations, routers with Debian's services, and cables, in a virtual machine
	tests/vm/run --kernel 6.12 --of "$(ROUTERS_OF)" wires

vm-more: ## test other features that a host may lack, in a virtual machine
	tests/vm/run --kernel 6.12 --of "$(ROUTERS_OF)" more

vm-air: ## test messages by Bluetooth, with BlueZ and simulated adapters, in a virtual machine
	tests/vm/run --kernel 6.12 --package products/nearby air

# The verifier of 6.1 is weaker: loads every compiler's programs, and forwards some traffic.
vm-oldest: $(OBJECTS) ## load all programs on kernel 6.1
	scripts/vm --kernel 6.1 --smp 1 -- bash -c 'for compiler in $(shell scripts/compilers); do \
		WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(TARGET_DIR)/debug/bench verifier || exit; done'
	WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$(lastword $(shell scripts/compilers)) tests/vm/run --kernel 6.1 oldest

# npm's own record of the installed packages.
WEB_TOOLS := web/node_modules/.package-lock.json

$(WEB_TOOLS): web/package-lock.json web/package.json web/.npmrc
	cd web && npm ci
	@touch $@

# Cargo cannot watch a directory that does not exist yet: the touched file makes cargo check again.
web/dist/index.html: $(WEB_TOOLS) web/build.mjs web/places.mjs $(shell find web/src modules/*/web -type f)
	cd web && npm run build
	@touch crates/web/build.rs

# Files that the products' pages use from the router's page.
SHARED := web/src/style web/src/core/plain.ts web/src/parts/make.ts

web/dist-atlas/atlas.css: $(WEB_TOOLS) web/atlas.mjs web/places.mjs $(shell find products/atlas/web $(SHARED) -type f)
	cd web && npm run atlas
	@touch -c products/atlas/build.rs

web/dist-nearby/page.js: $(WEB_TOOLS) web/nearby.mjs web/places.mjs $(shell find products/nearby/web $(SHARED) -type f)
	cd web && npm run nearby
	@touch -c products/nearby/build.rs

web: web/dist/index.html web/dist-atlas/atlas.css web/dist-nearby/page.js ## build the web pages, which the next build puts into the binaries (needs Node.js)

web-test: web ## check the page: lint, unit tests, and a browser (with simulated figures)
	cd web && npm run lint
	cd web && npm test
	cd web && npm run browser

# Needs `products`: the browser uses target/debug/weir-atlas, with the real data, and two target/debug/weir-nearby.
atlas-test: ## check the pages of weir-atlas and weir-nearby in a browser (needs `make products`)
	cd web && npm run browser-atlas
	cd web && npm run browser-nearby

# Does not depend on `build`: `sudo make install` should need no compiler, and leave no files of root in target/.
install: ## install binary, man pages, completions and service under DESTDIR and PREFIX
	@test -x $(TARGET_DIR)/release/weir || { echo "install: run 'make build' first" >&2; exit 1; }
	scripts/install $(TARGET_DIR)/release/weir "$(DESTDIR)" "$(PREFIX)" "$(UNITDIR)"

# In the virtual machine, the clock counts instructions: counts repeat exactly.
instructions: $(OBJECTS) ## compare the packet path's instructions per packet, and the verifier's work, with the records in bench/
	$(IDLE) scripts/vm --icount --timeout 3600 -- bash -c '$(TARGET_DIR)/debug/bench instructions || exit; \
		for compiler in $(shell scripts/compilers); do \
			WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(TARGET_DIR)/debug/bench verifier || exit; done'

instructions-record: $(OBJECTS) ## record the instructions again, after a change that is worth its price
	scripts/vm --icount --timeout 600 --out bench -- bash -c \
		'$(TARGET_DIR)/debug/bench instructions --record --file $$VM_OUT/instructions.json'
	@for kernel in $(KERNELS); do scripts/vm --kernel $$kernel --smp 1 --out bench -- bash -c \
		'for compiler in $(shell scripts/compilers); do \
			WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(TARGET_DIR)/debug/bench verifier \
				--record bench/verifier.json || exit 1; done; cp bench/verifier.json $$VM_OUT/' || exit 1; done

# Modules first: work that the virtual machine waits for outside takes no time inside.
PATHS_MODULES := veth,nf_conntrack,nf_conntrack_netlink,nf_tables,nft_ct,nft_masq,nft_nat,nft_chain_nat,sch_ingress,cls_bpf,ppp_generic,pppoe,8021q

paths: compile ## measure whole paths in instructions per packet: kernel, flowtable, weir, in each arrangement
	scripts/vm --icount --timeout 3600 --modules $(PATHS_MODULES) -- bash -c '$(TARGET_DIR)/debug/bench paths'

clean: ## remove build results
	$(CARGO) clean
