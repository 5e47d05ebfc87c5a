# bench/weights/weights.py — what main.cpp measures, with Python's package.
# SPDX-License-Identifier: BSL-1.0
#
#   python3 -m venv /tmp/weights && /tmp/weights/bin/pip install safetensors==0.8.0 numpy==2.4.6
#   /tmp/weights/bin/python bench/weights/weights.py
import os
import statistics
import time

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

path = "/tmp/ebb-bench-weights-python.safetensors"
count, times = 64, 9
weights = {str(i): np.full((1024, 1024), 0.5, dtype=np.float32) for i in range(count)}
megabytes = count * 4.194304


def median(f):
    seconds = []
    for _ in range(times):
        start = time.thread_time()
        f()
        seconds.append(time.thread_time() - start)
    return statistics.median(seconds)


def opened():
    with safe_open(path, framework="np") as f:
        return len(f.keys())


def viewed():
    with safe_open(path, framework="np") as f:
        return sum(f.get_tensor(name).sum() for name in f.keys())


save = median(lambda: save_file(weights, path))
load = median(lambda: load_file(path))
print(f"save {megabytes / save:.0f} MB/s   load {megabytes / load:.0f} MB/s   open {1e6 * median(opened):.0f} us   "
      f"get and add up {megabytes / median(viewed):.0f} MB/s")
os.remove(path)
