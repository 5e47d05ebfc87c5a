# test/python/reference.py — the loss of examples/python and its gradient, written down by hand for any dtype of NumPy; and data for it.
# SPDX-License-Identifier: BSL-1.0
import sys

try:
    import numpy
except ImportError:
    print("not run: no NumPy (Debian: python3-numpy)")
    sys.exit(77)


def value_and_grad(p, x, y):
    w, s = p[:-1], p[-1]
    r = (y - x @ w) * numpy.exp(-s)
    value = 2.5 * numpy.mean(numpy.log1p(0.25 * r * r)) + s
    by_r = 1.25 * r / (1 + 0.25 * r * r) / len(y)
    return value, numpy.concatenate([-numpy.exp(-s) * (x.T @ by_r), [1 - numpy.sum(by_r * r)]])


def data(n, d, dtype="f8", seed=1):
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((n, d))
    y = x @ random.standard_normal(d) + random.standard_normal(n)
    return (0.3 * random.standard_normal(d + 1)).astype(dtype), x.astype(dtype), y.astype(dtype)


def needs(package, debian=None):
    """Imports the package, or ends the test as skipped."""
    try:
        return __import__(package)
    except ImportError as e:
        print("not run: no %s%s: %s" % (package, " (Debian: %s)" % debian if debian else "", e))
        sys.exit(77)
