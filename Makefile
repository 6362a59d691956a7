# `make demo` and `make test` are all a fresh clone needs: Python 3.11+, git, pip. Never needs root.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# made when everything in pyproject.toml is installed; remove .venv to start over
READY  := $(VENV)/.ready
ARGS   ?=
PACKAGES := codemode runtime/codemode_runtime snapshots/codemode_snapshots
C_FILES := $(wildcard runtime/shim/*.[ch] runtime/shim/*/*.[ch] runtime/build/*.[ch] runtime/runner/*.[ch] tests/*/*.c)
# test processes; 0 runs the suite in one, as a debugger needs it
JOBS   ?= 2

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# pyright would ask the network whether there is a newer one
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test coverage lint format types imports check image bench parts fuzz fuzz-http fuzz-atheris conformance soak wheel pythons docs release-check clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: image  ## a program is suspended, its engine killed, and a new engine goes on with it
	@$(BIN)/python examples/demo.py
	@$(BIN)/python examples/workspace_demo.py

test: image  ## the whole test suite; one part of it: make test ARGS="tests/runtime -k url"
	@$(BIN)/python -m pytest --numprocesses $(JOBS) $(ARGS)

# Lines of Python, of the three packages: in pytest's own processes, in interpreters that tests start, and in zygotes
# and workers, which stay confined (tests/harness/worker_lines.py says how). Not measured: the guest (C and its
# JavaScript prelude), what a process did that was killed or left by os._exit, forks of tests that confine
# themselves, and the zygotes of hosts that are processes of their own.
coverage: image  ## which lines the tests run, also in workers; a part: make coverage ARGS="tests/catalog tests/runs"
	@mkdir -p .cache/coverage && $(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -p tests.harness.worker_lines --numprocesses $(JOBS) $(ARGS); ended=$$?; \
		$(BIN)/coverage combine --quiet && $(BIN)/coverage report; \
		for package in $(PACKAGES); do printf '%-32s %s %%\n' $$package \
			$$($(BIN)/coverage report --format total --include "$$package/*"); done; exit $$ended

lint: $(READY)  ## ruff and clang-format: rules and formatting
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/clang-format --dry-run --Werror $(C_FILES)

format: $(READY)  ## ruff and clang-format: fix what can be fixed
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format
	@$(BIN)/clang-format -i $(C_FILES)

types: $(READY)  ## pyright, strict; also over the Python blocks of the docs
	@$(BIN)/pyright
	@$(BIN)/python docs/check_blocks.py

imports: $(READY)  ## which plane may import which
	@$(BIN)/lint-imports --no-cache

check: lint types imports  ## everything that needs no test run

image: $(READY)  ## the guest image; built once, then only when its sources change
	@$(BIN)/python runtime/build/make_image.py

bench: image  ## this engine beside its peers, into docs/benchmarks.md; a first look: make bench ARGS=--quick
	@$(BIN)/python -m bench.side_by_side $(ARGS)

parts: image  ## benchmarks of single parts; one of them: make parts ARGS=bench/bench_guest.py
	@for file in $(or $(ARGS),$(sort $(wildcard bench/bench_*.py))); do \
		echo "== $$file" && $(BIN)/python $$file || exit 1; done

fuzz: image  ## every fuzzer for 30 s; one of them: make fuzz ARGS="programs --seconds 600"
	@$(BIN)/python -m tests.fuzz $(ARGS)

fuzz-http: image  ## the HTTP API against its OpenAPI document, 200 examples each; fewer: make fuzz-http EXAMPLES=20
	@CODEMODE_HTTP_EXAMPLES=$(or $(EXAMPLES),200) $(BIN)/python -m pytest -q tests/e2e/serve/test_http_schema.py

fuzz-atheris: $(READY)  ## the pure decoders, guided by coverage (installs atheris into .cache)
	@$(BIN)/python -m tests.fuzz.with_atheris $(ARGS)

# ten minutes at most; where npm's registry cannot be reached it says so and ends well
conformance: image  ## the official MCP conformance suite; new tables for the page: make conformance ARGS=--write
	@timeout 600 $(BIN)/python -m tests.conformance $(ARGS)

soak: image  ## mixed load for 30 minutes: nothing may grow or get slower
	@$(BIN)/python -m tests.e2e.soak $(ARGS)

wheel: $(READY)  ## dist/codemode-*.whl, with guest image and runner; CODEMODE_PLATFORM=… for another platform, CODEMODE_PREVIOUS=old.whl to restore its runs
	@$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

pythons: image  ## the suite on every other Python that is here; a part: make pythons ARGS="tests/runs tests/engine"
	@$(BIN)/python release/pythons.py $(ARGS)

docs: $(READY)  ## the documentation as a site, in .cache/site: strict, every link and anchor checked
	@$(BIN)/python -c 'import material' 2>/dev/null || $(BIN)/python -m pip install --quiet --group docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # not --quiet: it would not count warnings then

release-check: image  ## the wheel, installed in clean environments on every Python that is here, and used
	@$(BIN)/python release/check.py

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "codemode needs Python 3.11 or newer: make PYTHON=python3.11")'
	@echo "installing into $(VENV) (about two minutes) …"
	@# some systems ship venv without ensurepip: pip then comes from outside
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) >/dev/null || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"  # the first that knows --group
	@$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

clean:  ## remove what make made; the download cache stays
	rm -rf $(VENV) dist bench/.peers runtime/codemode_runtime/image .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
