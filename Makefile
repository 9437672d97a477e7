# Everything runs in .venv, which holds what requirements.lock names and this project (editable).
PYTHON ?= python3
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXAMPLES := manifests/examples
# Without bytecode every start compiles all modules, which takes longer than all else; where
# PYTHONDONTWRITEBYTECODE is set, Python would never write any by itself.
COMPILE := $(BIN)/python -m compileall -q -x '(^|/)(\.[^/]+|build|tests)/' .

.DEFAULT_GOAL := help
.PHONY: help setup run test check format e2e bench fuzz release docs page page-test lock clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: $(READY) ## make .venv with everything from requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with make PYTHON=..." >&2; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(COMPILE)
	@touch $@

run: setup ## validate shipped examples, then serve the webhooks and a page on loopback until interrupted
	@echo "Examples that kube-apiserver would accept:"
	@$(BIN)/claimcheck validate $(EXAMPLES)/good $(EXAMPLES)/inventory
	@echo
	@echo "Two that are wrong on purpose, with what to change:"
	@$(BIN)/claimcheck validate $(addprefix $(EXAMPLES)/bad/,kep-4816-pod.yaml old-versions.yaml) || test $$? -eq 1
	@echo
	@echo "Try next:"
	@echo "  $(BIN)/claimcheck validate YOUR-MANIFESTS/          the same for your own files"
	@echo "  $(BIN)/claimcheck validate --kube-version 1.34 ...  what an older release says"
	@echo "  $(BIN)/claimcheck validate --help                   formats, gates, updates, clusters"
	@echo
	@echo "The same rules as webhooks:"
	@$(BIN)/claimcheck serve --demo $(EXAMPLES)/inventory

# pytest rewrites the tests' modules before it runs them, and keeps the result, unless told to write no bytecode.
# Those that need a real API server are left unread, as every process would load all of them.
test: setup ## unit tests, in parallel
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n auto --dist worksteal --ignore=tests/e2e tests

check: setup ## style, types, the direction of imports, and the words of the glossary
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m docs.tools.glossary

format: setup ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

e2e: setup ## compare with real control planes (builds them once: some 25 minutes)
	$(BIN)/pytest -q -n 2 --dist loadfile -m e2e tests/e2e

bench: setup ## time against other tools, side by side
	$(COMPILE)
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.selectors
	$(BIN)/python -m tests.bench.expressions
	$(BIN)/python -m tests.bench.allocator
	$(BIN)/python -m tests.bench.webhook
	$(BIN)/python -m tests.bench.conversion
	$(BIN)/python -m tests.bench.connections
	$(BIN)/python -m tests.bench.fragmentation
	$(BIN)/python -m tests.bench.simulation
	$(BIN)/python -m tests.bench.patches
	$(BIN)/python -m tests.bench.scheduling
	$(BIN)/python -m tests.bench.page
	$(BIN)/python -m tests.bench.viewers

release: setup ## VERSION=1.38.0: record what a release of Kubernetes answers, and list what to do about it
	@test -n "$(VERSION)" || { echo "name a release: make release VERSION=1.38.0" >&2; exit 2; }
	$(BIN)/python -m tests.release $(VERSION)

# How many documents and expressions; CI takes fewer.
DOCUMENTS := 250000
EXPRESSIONS := 1000000

fuzz: setup ## the full runs: mutated documents, expressions that try to break out, time that grows too fast, objects at limits
	$(BIN)/python -m tests.fuzz --count $(DOCUMENTS)
	$(BIN)/python -m tests.fuzz.expressions --count $(EXPRESSIONS)
	$(BIN)/python -m tests.fuzz.growth
	$(BIN)/python -m tests.fuzz.held_briefly

docs: setup ## write what is generated: docs/reference, manifests/crds and manifests/chart
	$(BIN)/python -m docs.tools.reference
	$(BIN)/python -m docs.tools.crds
	$(BIN)/python -m docs.tools.chart

page: ## build the page of claimcheck ui from web (needs node 20 and npm)
	cd web && npm ci --silent --no-audit --no-fund && npm run --silent build

page-test: setup page ## look at that page in a browser (needs chromium; CHROMIUM=/path/to/it)
	cd web && npm test --silent

lock: ## pin the newest versions that pyproject.toml allows (needs uv)
	{ echo '# Made by "make lock" from pyproject.toml: do not edit.'; \
	  $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-annotate --all-extras --group pyproject.toml:dev pyproject.toml; } > requirements.lock.new
	mv requirements.lock.new requirements.lock

clean: ## remove what the targets above made here
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
