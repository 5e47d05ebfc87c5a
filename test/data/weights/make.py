# test/data/weights/make.py — writes the files of this folder with Python's packages, and checks that they read what ebb wrote.
# SPDX-License-Identifier: BSL-1.0
#
#   python3 -m venv /tmp/weights && /tmp/weights/bin/pip install safetensors==0.8.0 numpy==2.4.6
#   /tmp/weights/bin/python test/data/weights/make.py                      writes all files
#   /tmp/weights/bin/python test/data/weights/make.py some.safetensors     checks a file with the arrays of by_python.safetensors
import pathlib
import struct
import sys
import zlib

import numpy as np
from safetensors import TensorSpec, safe_open, serialize_file

here = pathlib.Path(__file__).parent
arrays = {
    "fc.weight": np.array([[1, 2.5, -3], [4, 5, 1 / 3]], dtype=np.float32),
    "fc.bias": np.array([0.5, -0.0], dtype=np.float32),
    "layers.0": np.array([1, 0.1, 65504], dtype=np.float16),
    "layers.1": np.array([np.pi, -1e300], dtype=np.float64),
    "flags": np.array([True, False, True]),
    "labels": np.array([[[1, -2], [3, 2**31 - 1]]], dtype=np.int32),
    "big": np.array([-(2**63), 2**53 + 1], dtype=np.int64),
    "number": np.array(7.5, dtype=np.float32),
    "empty": np.zeros((0, 3), dtype=np.float32),
    'quote"\\\t\x01 é€😀': np.array([9], dtype=np.float32),
    # NumPy has no bfloat16: these are the upper halves of 1, -2.5 and 0.15625 in float32.
    "half": (np.array([1, -2.5, 0.15625], dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16),
}
dtype_of = {name: "bfloat16" if name == "half" else str(a.dtype) for name, a in arrays.items()}
metadata = {"format": "np"}


def drawn(count, kind):
    """Bytes that test/io/inflate.cpp makes too: from a linear congruential generator, with symbols of many frequencies."""
    state, out = 1, bytearray()
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        high = state >> 33
        if kind == 0:
            out.append(0)
        elif kind == 1:
            out.append(high % 256)
        elif kind == 2:  # symbol s has the frequency 2^-s: codes of up to 15 bits
            out.append((high & -high).bit_length() if high else 0)
        elif kind == 3:  # long matches, with distances of up to 31,999
            out.append(97 + high % 4 if i < 3000 or i % 32768 < 500 else out[i - 2999 - 29000 * (i // 32768 % 2)])
        else:
            out.append(97 + high % 3)
    return bytes(out)


def packed(raw, level, strategy):
    how = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return how.compress(raw) + how.flush()

if len(sys.argv) == 1:
    specs = {n: TensorSpec(dtype=dtype_of[n], shape=a.shape, data_ptr=a.ctypes.data, data_len=a.nbytes) for n, a in arrays.items()}
    serialize_file(specs, here / "by_python.safetensors", metadata=metadata)
    others = ("uint8", "int8", "uint16", "int16", "uint32", "uint64")
    whole = {name: np.array([0, 1, 100], dtype=name) for name in others}
    # Types that NumPy lacks, in the bytes 0, 1, 100, 0, ...: two numbers of four bits in each byte, one of eight, a complex one in eight.
    narrow = ("float4_e2m1fn_x2", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz", "complex64")
    raw = np.array([0, 1, 100, 0, 0, 0, 0, 0], dtype=np.uint8)
    specs = {n: TensorSpec(dtype=str(a.dtype), shape=a.shape, data_ptr=a.ctypes.data, data_len=a.nbytes) for n, a in whole.items()}
    for name in narrow:
        size = 8 if name == "complex64" else 3
        specs[name] = TensorSpec(dtype=name, shape=(1 if size == 8 else 3,), data_ptr=raw.ctypes.data, data_len=size)
    serialize_file(specs, here / "other_types.safetensors")
    np.savez(here / "plain.npz", **{n: a for n, a in arrays.items() if n.isascii() and n != "half"})
    np.savez_compressed(here / "packed.npz", np.arange(1000, dtype=np.float32).reshape(10, 100), np.zeros(20000), np.array(7))
    with open(here / "deflated.bin", "wb") as f:
        for count, kind in ((0, 0), (1, 1), (300, 0), (1000, 1), (6000, 2), (100000, 3), (3000, 4)):
            for level, strategy in ((0, 0), (1, 0), (6, 0), (9, 0), (9, zlib.Z_HUFFMAN_ONLY), (9, zlib.Z_RLE), (9, zlib.Z_FIXED)):
                deflated = packed(drawn(count, kind), level, strategy)
                if len(deflated) < 4000:
                    f.write(struct.pack("<III", count, kind, len(deflated)) + deflated)
else:
    with safe_open(sys.argv[1], framework="np") as f:
        assert f.metadata() == metadata, f.metadata()
        assert set(f.keys()) == set(arrays), f.keys()
        for name, wanted in arrays.items():
            assert tuple(f.get_slice(name).get_shape()) == wanted.shape, name
            if name == "half":
                assert f.get_slice(name).get_dtype() == "BF16"
            else:
                got = f.get_tensor(name)
                assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes(), name
    print("Python reads", len(arrays), "arrays as they were meant")
