# examples/python/main.py — a line through points with outliers: by the module, and by it in SciPy, PyTorch and JAX.
# SPDX-License-Identifier: BSL-1.0
import sys

import numpy

import robust

SLOPE, HEIGHT = 2.0, -1.0


def points(n):
    """Points near a line; each tenth is far off."""
    t = numpy.linspace(-1, 1, n)
    x = numpy.stack([t, numpy.ones(n)], axis=1)
    y = SLOPE * t + HEIGHT + 0.3 * numpy.sin(37 * numpy.arange(n))
    y[::10] += 5 + 5 * t[::10]
    return x, y


def main():
    x, y = points(400)
    print("the line                 slope %7.4f  height %7.4f" % (SLOPE, HEIGHT))
    print("least squares            slope %7.4f  height %7.4f" % tuple(numpy.linalg.lstsq(x, y, rcond=None)[0]))

    p, v = numpy.zeros(3), numpy.zeros(3)
    for _ in range(20):
        robust.step(p, v, x, y, rate=0.02)                # writes p and v, NumPy's own memory
    steps, _ = robust.fit(p, v, x, y, rate=0.02, steps=380)  # a loop in C++, while other Python threads run
    print("%3d steps of ebb's        slope %7.4f  height %7.4f" % (20 + steps, p[0], p[1]))

    try:
        import with_scipy
        found = with_scipy.fit(x, y)
        print("SciPy, %2d calls of ebb   slope %7.4f  height %7.4f" % (found.nfev, found.x[0], found.x[1]))
    except ImportError as e:
        print("SciPy is not here:", e)

    try:
        import torch
        from with_torch import Loss
        q = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        rows, targets = torch.from_numpy(x), torch.from_numpy(y)
        descent = torch.optim.SGD([q], lr=0.02, momentum=0.9)
        for _ in range(400):
            descent.zero_grad()
            Loss.apply(q, rows, targets).backward()
            descent.step()
        print("400 steps of PyTorch's    slope %7.4f  height %7.4f" % tuple(q.detach()[:2].tolist()))
    except ImportError as e:
        print("PyTorch is not here:", e)

    try:
        import jax
        import jax.numpy as jnp
        import with_jax
        jax.config.update("jax_enable_x64", True)
        rows, targets = jnp.asarray(x), jnp.asarray(y)
        q, w = jnp.zeros(3), jnp.zeros(3)

        @jax.jit
        def step(q, w):
            w = 0.9 * w + jax.grad(with_jax.loss)(q, rows, targets)
            return q - 0.02 * w, w

        for _ in range(400):
            q, w = step(q, w)
        print("400 steps of JAX's        slope %7.4f  height %7.4f" % tuple(q[:2].tolist()))
    except ImportError as e:
        print("JAX is not here:", e)

    try:
        robust.loss(p, x.astype("f4"), y)
    except robust.Error as e:
        print("robust.Error:", e)


if __name__ == "__main__":
    if sys.argv[1:] == ["--times"]:
        import times
        times.main()
    else:
        main()
