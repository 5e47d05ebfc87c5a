# examples/python/times.py — times of the value with its gradient, and of a training step, beside NumPy, PyTorch and JAX.
# SPDX-License-Identifier: BSL-1.0
#
#   bash examples/run.sh python --times
# All use one core. The functions take turns in rounds, so that what else the machine does hits all of them alike. Ratios are those within
# a round.
import os
import time

for name in "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS":
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy

import robust

ROUNDS = 41


def numpy_value_and_grad(p, x, y):
    """Written by hand, with each intermediate once."""
    s = numpy.exp(-p[-1])
    r = (y - x @ p[:-1]) * s
    q = 0.25 * r * r
    by_r = r / (1 + q)
    by_r *= 1.25 / len(y)
    slope = numpy.empty_like(p)
    slope[:-1] = -s * (by_r @ x)
    slope[-1] = 1 - by_r @ r
    return 2.5 * numpy.log1p(q).mean() + p[-1], slope


def candidates(p, x, y):
    """Functions by name: values with gradients, and training steps."""
    v, out, rate = numpy.zeros_like(p), numpy.empty_like(p), 1e-3
    values = {"ebb": lambda: robust.value_and_grad(p, x, y, out=out), "NumPy by hand": lambda: numpy_value_and_grad(p, x, y)}
    q, u = p.copy(), v.copy()
    steps = {"ebb": lambda: robust.step(q, u, x, y, rate)}

    def numpy_step():
        numpy.multiply(v, 0.9, out=v)
        numpy.add(v, numpy_value_and_grad(w, x, y)[1], out=v)
        numpy.subtract(w, rate * v, out=w)

    w = p.copy()
    steps["NumPy by hand"] = numpy_step

    try:
        import torch
        from with_torch import Loss
        torch.set_num_threads(1)
        tp, tx, ty = torch.from_numpy(p.copy()), torch.from_numpy(x), torch.from_numpy(y)
        tp.requires_grad_()

        def loss(p, x, y):
            r = (y - x @ p[:-1]) * torch.exp(-p[-1])
            return 2.5 * torch.mean(torch.log1p(0.25 * r * r)) + p[-1]

        def of(f, p=tp):
            value = f(p, tx, ty)
            return value, torch.autograd.grad(value, p)[0]

        values["PyTorch"] = lambda: of(loss)
        compiled = torch.compile(loss)
        values["PyTorch, torch.compile"] = lambda: of(compiled)
        values["ebb in PyTorch"] = lambda: of(Loss.apply)

        def torch_step(f):
            p = tp.detach().clone().requires_grad_()
            descent = torch.optim.SGD([p], lr=rate, momentum=0.9)

            def step():
                descent.zero_grad()
                f(p, tx, ty).backward()
                descent.step()
            return step

        steps["PyTorch"], steps["PyTorch, torch.compile"] = torch_step(loss), torch_step(compiled)
        steps["ebb in PyTorch"] = torch_step(Loss.apply)
    except ImportError:
        pass

    try:
        import jax
        import jax.numpy as jnp
        import with_jax
        jax.config.update("jax_enable_x64", True)
        jp, jx, jy = map(jnp.asarray, (p, x, y))

        def jax_loss(p, x, y):
            r = (y - x @ p[:-1]) * jnp.exp(-p[-1])
            return 2.5 * jnp.mean(jnp.log1p(0.25 * r * r)) + p[-1]

        def jax_value(f):
            g = jax.jit(jax.value_and_grad(f))
            return lambda: jax.block_until_ready(g(jp, jx, jy))

        def jax_step(f):
            @jax.jit
            def one(p, v):
                value, slope = jax.value_and_grad(f)(p, jx, jy)
                v = 0.9 * v + slope
                return value, p - rate * v, v
            state = [None, jp, jnp.zeros_like(jp)]

            def step():
                state[:] = jax.block_until_ready(one(state[1], state[2]))
            return step

        values["JAX, jit"], values["ebb in JAX, jit"] = jax_value(jax_loss), jax_value(with_jax.loss)
        steps["JAX, jit"], steps["ebb in JAX, jit"] = jax_step(jax_loss), jax_step(with_jax.loss)
    except ImportError:
        pass
    return values, steps


def seconds(f, count):
    start = time.perf_counter()
    for _ in range(count):
        f()
    return (time.perf_counter() - start) / count


def medians(functions):
    """The time of ebb, and the time of each relative to ebb's in the same round."""
    counts = {}
    for name, f in functions.items():
        for _ in range(3):
            f()  # compiles, warms up
        counts[name] = max(1, int(0.01 / seconds(f, 3)))
    times = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, f in functions.items():
            times[name].append(seconds(f, counts[name]))
    median = lambda t: sorted(t)[ROUNDS // 2]
    ratios = {name: median([a / b for a, b in zip(t, times["ebb"])]) for name, t in times.items()}
    return median(times["ebb"]), ratios


def check(values):
    def numbers(value, slope):
        return float(value.detach() if hasattr(value, "detach") else value), numpy.asarray(slope, "f8")

    (value, slope), *others = (numbers(*f()) for f in values.values())
    for other, its in others:
        assert abs(other - value) < 1e-4 and abs(its - slope).max() < 1e-4, (other, value, its, slope)


def main():
    random = numpy.random.default_rng(1)
    rows = []
    for n, d, dtype in (100, 8, "f8"), (10000, 8, "f8"), (10000, 8, "f4"), (1000000, 8, "f4"):
        x = random.standard_normal((n, d)).astype(dtype)
        y = (x @ random.standard_normal(d) + random.standard_normal(n)).astype(dtype)
        values, steps = candidates(numpy.zeros(d + 1, dtype), x, y)
        check(values)
        for what, functions in ("value and gradient", values), ("training step", steps):
            rows.append((what, "%d x %d, %s" % (n, d, {"f8": "double", "f4": "float"}[dtype]), medians(functions)))
    names = list(rows[0][2][1])
    print("| | array | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 2) + "|")
    for what, array, (of_ebb, ratios) in rows:
        cells = ["%.*f us" % (of_ebb < 1e-5, of_ebb * 1e6)] + ["%.*f" % (ratios[n] < 10, ratios[n]) for n in names[1:]]
        print("| " + " | ".join([what, array] + cells) + " |")
    print("ebb's time; of the others, the multiple of it in the same round: medians of %d rounds" % ROUNDS)


if __name__ == "__main__":
    main()
