# bench/peers/pytorch.sh — finds PyTorch, or installs it (1 GB) into build/peers/venv once; sourced by run.sh and steps.sh.
# SPDX-License-Identifier: BSL-1.0
#
# EBB_PYTHON=<python> names one that has it.
python=${EBB_PYTHON:-build/peers/venv/bin/python}
if ! "$python" -c 'import torch, numpy' 2>/dev/null; then
  [ -z "${EBB_PYTHON:-}" ] || { echo "$EBB_PYTHON has no torch and numpy" >&2; exit 1; }
  python3 -m venv build/peers/venv
  quietly build/peers/venv/bin/pip install torch==2.13.0 numpy
fi
export TORCHINDUCTOR_CACHE_DIR=$PWD/build/peers/cache
# Otherwise page faults for each new gradient of ten million elements would hide everything else.
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
last=$(($(nproc) - 1))
