# make demo     one small experiment with a real model, from nothing to its table
# make test     every test that needs neither a GPU nor the internet
# make lint     ruff and mypy
# make tables   the paper's tables and figures from the example results
# make example  makes the example results anew
# make lock     requirements.lock anew from pyproject.toml

# The first Python on the PATH that will do; `make PYTHON=/path/to/python` names another.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	"$$p" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	2>/dev/null && echo "$$p" && break; done)
BIN := .venv/bin
RUN := $(BIN)/python
CODE := wmt agents benchmarks poisoning scripts examples hydra_plugins tests run.py

.PHONY: demo test lint tables example lock clean

demo: .venv/core
	$(RUN) run.py experiment=quickstart

test: .venv/dev
	$(RUN) -m pytest

lint: .venv/dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy wmt agents benchmarks poisoning scripts run.py

tables: .venv/report
	$(RUN) -m scripts.tables results/example --out build/tables
	$(RUN) -m scripts.figures results/example --out build/figures
	$(RUN) -m scripts.claims results/example

example: .venv/report
	$(RUN) -m scripts.example

lock: .venv/dev
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --quiet \
		--no-emit-index-url --no-header --no-annotate --upgrade -o requirements.lock

clean:
	rm -rf .venv build

.venv/made:
	@test -n "$(PYTHON)" || { echo "needs Python 3.11, 3.12 or 3.13 with venv on the PATH \
	(on Debian: python3-venv), or make PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	@touch $@

# Each stamp is a set of extras, installed again only when the lock file or pyproject.toml changes.
.venv/core: EXTRAS := llamacpp
.venv/report: EXTRAS := llamacpp,report
.venv/dev: EXTRAS := llamacpp,report,gaia,web,documents,ocr,slurm,nvml,tokenizers,dev
.venv/core .venv/report .venv/dev: .venv/made requirements.lock pyproject.toml
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[$(EXTRAS)]'
	@touch $@
