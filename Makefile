# What one does with weir, by name. Each target is a thin line over cargo or a script; `make help` lists them.
#
# Variables: PREFIX, DESTDIR, UNITDIR for install; SECONDS_PER_TARGET for fuzz; KERNELS for test-vm; ATLAS_PORT for atlas;
# CARGO_TARGET_DIR.

PREFIX ?= /usr/local
UNITDIR ?= $(PREFIX)/lib/systemd/system
SECONDS_PER_TARGET ?= 60
KERNELS ?= 6.12 6.1

CARGO := scripts/cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# Cargo unifies features over the packages it builds: another choice of packages would build the dependencies again. So there
# are two choices alone, the router (`default-members` in Cargo.toml) and all, and tests/Cargo.toml has both get the same
# features. Targets and names select what runs.
WORKSPACE := --locked
ALL := --workspace --locked
# Tests that make namespaces need root; cargo hands each test program to this command.
ROOT_RUNNER := CARGO_TARGET_$(shell uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_RUNNER=$(CURDIR)/scripts/test-program
SHELL_SCRIPTS := $(wildcard scripts/*) .ci/run tests/vm/run tests/netns/setup_debian/systemd.sh products/nearby/tests/lab/bench packaging/debian/reload_config $(wildcard packaging/openwrt/files/*.init)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup setup-demo build web web-test products atlas-test test test-long test-affected affected tree test-vm lint lint-release compile unit system-short routers routers-alone programs golden waiting compilers demo atlas build-atlas build-nearby bench atlas-bench day fuzz fuzz-short vm-short vm-wires vm-more vm-oldest vm-air instructions instructions-record paths uci-peer install clean
MAKEFLAGS += --no-print-directory

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '  %-11s %s\n' "$$name" "$$text"; done

setup: ## installs what is missing to build and test (Debian; root or sudo)
	@scripts/setup

setup-demo: ## the same for the demonstration alone
	@scripts/setup --demo

# Each program is optimised as a whole, which takes a minute on a small machine: no more of them than are used.
PROGRAMS := weir

build: web/dist/index.html ## builds target/release/weir, the web page in it
	$(CARGO) build --release $(WORKSPACE) $(addprefix --bin ,$(PROGRAMS))

test: ## what tells most in a quarter of an hour: setup, lint, the page in a browser, the crates, a few routers
	@MAKE='$(MAKE)' scripts/stages setup web lint+web-test+compile unit system-short

# First what nothing may run beside. Then the longest: routers wait for half of their time, and beside two rows of them runs
# what is late for nobody. Compilers and emulators are in the kernel's idle class, as they hold no lock of the kernel's: with a
# low priority alone they kept those waiting that woke up. A machine beside them was late for leases and beacons.
IDLE := chrt --idle 0
LONG := routers-alone routers+waiting/programs/golden+fuzz-short/instructions/compilers/uci-peer/lint-release \
	vm-more,products,vm-wires,vm-air,atlas-test,vm-oldest

test-long: setup ## what else must pass: every system test, every compiler, a little fuzzing, some tests in a VM
	@MAKE='$(MAKE)' scripts/stages compile $(LONG)

test-affected: setup ## of `test-long` the parts that concern what changed since the commit in .ci/verified
	@scripts/affected
	@packages=$$(scripts/affected --packages) && routers=$$(scripts/affected --routers) && \
		stages=$$(scripts/affected --of '$(LONG)') && \
		AFFECTED="$$(echo $$packages)" ROUTERS_OF="$$(echo $$routers)" MAKE='$(MAKE)' scripts/stages compile $$stages

affected: ## tells which parts those are, and why
	@scripts/affected

tree: ## prints figures of the source tree: lines, circles of imports, spread types
	@$(CARGO) build --quiet $(WORKSPACE) --bin tree && $(TARGET_DIR)/debug/tree

test-vm: setup ## runs the whole VM list on each kernel of KERNELS
	@for kernel in $(KERNELS); do \
		scripts/vm --kernel $$kernel -- bash -c '$(TARGET_DIR)/debug/bench verifier' || exit 1; \
		tests/vm/run --kernel $$kernel all || exit 1; \
		tests/vm/run --kernel $$kernel --package products/nearby all || exit 1; done

# The programs of each compiler, without warnings.
OBJECTS := $(TARGET_DIR)/objects/.made

$(OBJECTS): $(shell find bpf -type f) scripts/lint-bpf scripts/compilers Cargo.lock
	scripts/lint-bpf
	@touch $@

lint: $(OBJECTS) ## formatting, warnings of the BPF sources, shell scripts, English; clippy is part of `compile`
	$(CARGO) fmt --all --check
	shellcheck $(SHELL_SCRIPTS)
	scripts/lint-prose

# One build: what tests need of a crate would otherwise have it, and all that stand on it, built twice. The compiler is
# clippy's (scripts/cargo), so this is the lint as well. The browser of `web-test` beside it waits for most of its time, and
# goes first when it does not.
compile: ## builds the tests, and the binaries they run; a warning of clippy's fails
	nice -n 15 scripts/no-warnings $(CARGO) build $(WORKSPACE) --all-targets

# Without what only tests ask of dependencies, as they are in a release; and weir with no feature at all. By the same compiler
# and words as `compile`: with others, build scripts would be built anew, and all that stands on them.
lint-release: ## warnings with the features of a release, and with none
	$(IDLE) scripts/no-warnings $(CARGO) check $(WORKSPACE) --bins
	$(IDLE) scripts/no-warnings $(CARGO) check --locked -p weir --no-default-features

unit: ## tests inside the crates
	$(ROOT_RUNNER) $(CARGO) test $(WORKSPACE) --lib --bins --no-fail-fast
	$(CARGO) test $(WORKSPACE) --doc

# Test programs of packages: names of test targets that jq selects by $own, whether a package is the router's.
test_targets = $$($(CARGO) metadata --locked --no-deps --format-version 1 | jq -r --arg affected ' $(AFFECTED) ' \
	'.workspace_default_members as $$router | [.packages[] | (.id | IN($$router[])) as $$own | .name as $$name | \
		select($1).targets[] | select(.kind == ["test"]).name] | unique - ($$ARGS.positional) | .[]' --args $2)

# After `compile`, which built what products share with the router.
products: web/dist-atlas/atlas.css web/dist-nearby/page.js ## builds weir-atlas and weir-nearby, and runs their tests; a warning of clippy's fails
	scripts/same-features
	nice -n 15 scripts/no-warnings $(CARGO) build $(ALL) --all-targets
	TESTS_OF=products $(ROOT_RUNNER) $(CARGO) test $(ALL) --lib --bins --no-fail-fast
	@tests=$(call test_targets,$$own | not) || exit; \
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(ALL) $$(printf -- '--test %s ' $$tests) --no-fail-fast -- --test-threads=2

# Whole routers are one program, tests/netns, by the names of its modules; other tests are programs of their own. `routers`
# runs a list of modules, or all but some: ROUTERS with options of the test program.
ROUTERS = $(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) --test routers --no-fail-fast --

# The cores and parsers; then a router that agrees with the kernel packet by packet, outlives its daemon, says what is
# wrong with its configuration, and keeps its page to those who may see it.
SHORT := datapath kernel offload program server web
SHORT_ROUTERS := oracle:: failopen::

system-short: ## tests that need the kernel and tell most in two minutes
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) $(addprefix --test ,$(SHORT)) --no-fail-fast -- --test-threads=2 --skip=golden::
	$(ROUTERS) --test-threads=2 $(SHORT_ROUTERS)

# Those that wait for most of their time, for what comes by itself: two of their tests at a time used less than a third of
# two processors (scripts/system-tests tells). So there are three at a time, beside all others.
WAITING := setup traffic
WAITING_ROUTERS := bench:: bridging:: cables:: copies:: counters:: detect:: expiry:: leak:: page:: parity:: portal:: \
	ports_auto:: setup:: setup_debian:: uplinks:: wires::

# Of these modules those that ROUTERS_OF names, or all.
of = $(if $(ROUTERS_OF),$(foreach one,$1,$(if $(filter $(firstword $(subst ::, ,$(one)))::,$(ROUTERS_OF)),$(one))),$1)

waiting: ## system tests that wait for most of their time
	$(if $(call of,$(WAITING_ROUTERS)),$(ROUTERS) --test-threads=3 $(call of,$(WAITING_ROUTERS)))
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) $(addprefix --test ,$(WAITING)) --no-fail-fast -- --test-threads=3

# Those that need a processor when they ask for one: floods, and what is held against the kernel or a second.
ALONE_ROUTERS := flood:: multipath::experiment:: changes::quiet::

OTHER_ROUTERS = $(filter-out $(SHORT_ROUTERS) $(WAITING_ROUTERS) $(ALONE_ROUTERS),$(ROUTERS_OF))

# Two at a time: each builds routers in namespaces, and shares the processors with their traffic.
routers: ## whole routers that neither `system-short` nor `waiting` has
	$(if $(or $(OTHER_ROUTERS),$(if $(ROUTERS_OF),,all)),$(ROUTERS) --test-threads=2 $(OTHER_ROUTERS) \
		$(addprefix --skip=,$(SHORT_ROUTERS) $(WAITING_ROUTERS) $(ALONE_ROUTERS)))

routers-alone: ## whole routers that need both processors
	$(if $(call of,$(ALONE_ROUTERS)),$(ROUTERS) --test-threads=1 $(call of,$(ALONE_ROUTERS)))

# Of AFFECTED packages, where it names any.
programs: ## all other test programs: the command line, golden packets, parsers
	@tests=$(call test_targets,$$own and ($$affected == "  " or ($$affected | contains(" " + $$name + " "))),routers $(SHORT) $(WAITING)) || exit; \
	[ -z "$$tests" ] || $(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) $$(printf -- '--test %s ' $$tests) \
		--no-fail-fast -- --test-threads=2

golden: ## single packets through the programs of the packet path, one by one
	$(ROOT_RUNNER) scripts/system-tests $(CARGO) test $(WORKSPACE) --test datapath --no-fail-fast -- --test-threads=2 golden::

# Of the golden packets those by which one program after the other is loaded; random frames go through all of them.
compilers: $(OBJECTS) ## loads the programs of every other compiler that scripts/compilers names, and runs frames through them
	@for compiler in $$(scripts/compilers | tail -n +2); do \
		echo "-- the programs of $$compiler"; \
		WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(ROOT_RUNNER) \
			nice -n 15 $(CARGO) test $(WORKSPACE) --test datapath --no-fail-fast -- \
			parser::frames_ parser::octets_ golden::forwarding:: golden::encapsulations:: golden::checksums:: golden::witness:: \
			--test-threads=2 || exit 1; done

uci-peer: ## holds `weir uci` against libuci's own program
	WEIR_UCI_PEER=$$(scripts/uci-peer) nice -n 15 $(CARGO) test $(WORKSPACE) --test program -- uci:: uci_peer:: --include-ignored --nocapture

demo: PROGRAMS += demo
demo: setup-demo build ## shows a router being taken over, in namespaces, with figures
	scripts/as-root $(TARGET_DIR)/release/demo

build-nearby: web/dist-nearby/page.js ## builds target/release/weir-nearby, its page in it
	$(CARGO) build --release $(ALL) --bin weir-nearby

build-atlas: web/dist-atlas/atlas.css ## builds target/release/weir-atlas, its pages in it
	$(CARGO) build --release $(ALL) --bin weir-atlas

# Not a release: that would take minutes to build, and this much is imported in some seconds.
atlas: setup-demo web/dist-atlas/atlas.css ## imports thirteen years of a community's directory, serves them as charts, and opens the page
	$(CARGO) build $(ALL) --bin weir-atlas
	@scripts/atlas $(TARGET_DIR)/debug/weir-atlas $(TARGET_DIR)/atlas-data $(ATLAS_PORT)

# What was measured, before it is put into the documentation.
MEASURED := $(TARGET_DIR)/measured
BENCH := scripts/as-root $(TARGET_DIR)/release/bench --json $(MEASURED)

bench: PROGRAMS += bench drops
bench: setup build ## measures against the kernel's own path: the closed loop, single programs, the daemon, the monitor, several uplinks; writes docs/performance.md
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

atlas-bench: setup ## measures the atlas on ten years of hourly data, beside DuckDB and ClickHouse; writes docs/atlas-performance.md
	$(CARGO) bench $(ALL) --bench atlas -- --write $(CURDIR)/docs/atlas-performance.md

day: PROGRAMS += bench
day: setup build ## a day in an hour, beside the kernel alone: what rests, dies, roams, expires or is used up ends as it does there
	scripts/as-root $(TARGET_DIR)/release/bench day

fuzz: ## fuzzes every target for SECONDS_PER_TARGET
	scripts/fuzz --seconds $(SECONDS_PER_TARGET)

fuzz-short: ## fuzzes every target for 4 seconds
	$(IDLE) scripts/fuzz --seconds 4

vm-short: vm-wires vm-more ## what `test-long` shows in machines on kernel 6.12

vm-wires: ## ways to wrap packets, routers of Debian's services, and cables, in a machine
	tests/vm/run --kernel 6.12 --of "$(ROUTERS_OF)" wires

vm-more: ## what else a host may lack, in a machine
	tests/vm/run --kernel 6.12 --of "$(ROUTERS_OF)" more

vm-air: ## messages by Bluetooth, with BlueZ and adapters that are made up, in a machine
	tests/vm/run --kernel 6.12 --package products/nearby air

# Its verifier knows less: every compiler's programs are loaded, and something is forwarded.
vm-oldest: $(OBJECTS) ## loads all programs on kernel 6.1
	scripts/vm --kernel 6.1 --smp 1 -- bash -c 'for compiler in $(shell scripts/compilers); do \
		WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(TARGET_DIR)/debug/bench verifier || exit; done'
	WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$(lastword $(shell scripts/compilers)) tests/vm/run --kernel 6.1 oldest

# What npm installed, as npm itself notes it down.
WEB_TOOLS := web/node_modules/.package-lock.json

$(WEB_TOOLS): web/package-lock.json web/package.json web/.npmrc
	cd web && npm ci
	@touch $@

# Cargo cannot wait for a directory that is not there yet: the touched file has it look again.
web/dist/index.html: $(WEB_TOOLS) web/build.mjs web/places.mjs $(shell find web/src modules/*/web -type f)
	cd web && npm run build
	@touch crates/web/build.rs

# What pages of products take from the router's.
SHARED := web/src/style web/src/core/plain.ts web/src/parts/make.ts

web/dist-atlas/atlas.css: $(WEB_TOOLS) web/atlas.mjs web/places.mjs $(shell find products/atlas/web $(SHARED) -type f)
	cd web && npm run atlas
	@touch -c products/atlas/build.rs

web/dist-nearby/page.js: $(WEB_TOOLS) web/nearby.mjs web/places.mjs $(shell find products/nearby/web $(SHARED) -type f)
	cd web && npm run nearby
	@touch -c products/nearby/build.rs

web: web/dist/index.html web/dist-atlas/atlas.css web/dist-nearby/page.js ## builds the web pages, for the next build to put into the binaries (needs Node.js)

web-test: web ## checks the page: lint, unit tests, and a browser that uses it (figures are made up)
	cd web && npm run lint
	cd web && npm test
	cd web && npm run browser

# After `products`: it drives target/debug/weir-atlas, with the real data, and two target/debug/weir-nearby.
atlas-test: ## checks the pages of weir-atlas and weir-nearby themselves in a browser (needs `make products`)
	cd web && npm run browser-atlas
	cd web && npm run browser-nearby

# Not after `build`: `sudo make install` should need no compiler, and leave no files of root in target/.
install: ## installs binary, man pages, completions and service under DESTDIR and PREFIX
	@test -x $(TARGET_DIR)/release/weir || { echo "install: run 'make build' first" >&2; exit 1; }
	scripts/install $(TARGET_DIR)/release/weir "$(DESTDIR)" "$(PREFIX)" "$(UNITDIR)"

# In the machine, the clock counts instructions: they repeat exactly.
instructions: $(OBJECTS) ## compares the packet path's instructions per packet, and the verifier's work, with what is recorded in bench/
	$(IDLE) scripts/vm --icount --timeout 3600 -- bash -c '$(TARGET_DIR)/debug/bench instructions || exit; \
		for compiler in $(shell scripts/compilers); do \
			WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(TARGET_DIR)/debug/bench verifier || exit; done'

instructions-record: $(OBJECTS) ## records them anew, after a change that is worth its price
	scripts/vm --icount --timeout 600 --out bench -- bash -c \
		'$(TARGET_DIR)/debug/bench instructions --record --file $$VM_OUT/instructions.json'
	@for kernel in $(KERNELS); do scripts/vm --kernel $$kernel --smp 1 --out bench -- bash -c \
		'for compiler in $(shell scripts/compilers); do \
			WEIR_OBJECTS=$(abspath $(TARGET_DIR))/objects/$$compiler $(TARGET_DIR)/debug/bench verifier \
				--record bench/verifier.json || exit 1; done; cp bench/verifier.json $$VM_OUT/' || exit 1; done

# Modules first: what the machine waits for outside takes no time inside.
PATHS_MODULES := veth,nf_conntrack,nf_conntrack_netlink,nf_tables,nft_ct,nft_masq,nft_nat,nft_chain_nat,sch_ingress,cls_bpf,ppp_generic,pppoe,8021q

paths: compile ## measures whole paths in instructions per packet: kernel, flowtable, weir, in each arrangement
	scripts/vm --icount --timeout 3600 --modules $(PATHS_MODULES) -- bash -c '$(TARGET_DIR)/debug/bench paths'

clean: ## removes what was built
	$(CARGO) clean
