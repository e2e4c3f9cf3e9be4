# Callup: everything a newcomer types. `make help` lists it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help race test check battery bench bench-select flower-faults docs golden pictures reproduce clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

race: $(VENV)/.light ## set up without torch, race the selectors, write report.html
	$(BIN)/callup race --out runs/race --force

test: $(VENV)/.dev ## set up everything the tests need and run them
	$(BIN)/python -m pytest -n 2 -q

check: $(VENV)/.dev ## ruff, mypy, import-linter, generated docs up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check
	$(BIN)/python benchmarks/performance_page.py --check
	$(BIN)/python battery/page.py --check
	$(BIN)/python docs/reproduction.py --check
	$(BIN)/python docs/tournament.py --check

docs: $(VENV)/.light ## write the method table and the method pages
	$(BIN)/python docs/generate.py

reproduce: $(VENV)/.dev ## the published tables beside ours, as far as that takes minutes; `callup reproduce -h` for more
	$(BIN)/callup reproduce --scale check

golden: $(VENV)/.dev ## write the golden selection digests anew; a changed line needs a reason in the changelog
	$(BIN)/python -m callup.testing.digests > golden.json && mv golden.json src/callup/testing/golden.json

flower-faults: $(VENV)/.dev ## kill, delay and lie in a real Flower federation, write docs/flower-faults.md
	$(BIN)/python scripts/flower/faults.py --out docs/flower-faults.md

bench: $(VENV)/.dev ## measure everything, peers too, write docs/performance.md (20 minutes, wants a quiet machine)
	$(BIN)/python benchmarks/everything.py

bench-select: $(VENV)/.dev ## time every selector at up to a million clients, write docs/performance-selection.md
	$(BIN)/python benchmarks/selection.py --growth
	$(BIN)/python benchmarks/performance_page.py
	$(BIN)/python -m pytest -q -m timed

battery: $(VENV)/.dev ## the long reliability battery: kills, liars, load, 100,000 steps of good and bad input (hours)
	$(BIN)/python battery/crash.py --out battery/results/crash.json
	$(BIN)/python battery/load.py --out battery/results/load.json
	$(BIN)/python battery/adversaries.py
	$(BIN)/python battery/guard_cost.py
	$(BIN)/callup selftest --out runs/selftest && cp runs/selftest/selftest.json battery/results/
	CALLUP_STEPS=100000 CALLUP_STEPS_OUT=battery/results/machine.json $(BIN)/python -m pytest -q -s --timeout 0 tests/integration/test_state_machine.py
	CALLUP_FUZZ=20000 $(BIN)/python -m pytest -q -o timeout=7200 tests/fuzz
	$(BIN)/python battery/adversaries_page.py
	$(BIN)/python battery/page.py

pictures: $(VENV)/.light ## draw the documentation's pictures from real runs (half a minute)
	$(BIN)/callup race --out runs/pictures --force --scenario skewed
	$(BIN)/python docs/pictures.py runs/pictures
	$(BIN)/python docs/generate.py

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.light: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt -e ".[dev,torch,fast,data,ray,he,dp,dashboard]"
	@touch $@ $(VENV)/.light
