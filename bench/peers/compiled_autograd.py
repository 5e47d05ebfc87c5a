# bench/peers/compiled_autograd.py — PyTorch on the cases of bench/compiled_autograd: eager, compiled, compiled with compiled autograd.
# SPDX-License-Identifier: BSL-1.0
#
#   python bench/peers/compiled_autograd.py [--threads N] [--least N] [--smoke] [table...]      tables: tutorial work chains network
#
# Times are of backwards (of whole steps for the network). With one thread they are medians of processor time, which other work on the
# machine hardly changes; with two threads they are minima of wall-clock time. Graphs are made before the clock starts; gradients
# accumulate. "compiled": each segment is compiled and the engine runs their backwards. "captured": compiled autograd in its scope, with
# inductor. "first": forward and backward of the first call. "new shape", "new node": the first backward of that kind alone; without
# compiled autograd it was compiled with its forward.
import argparse
import gc
import os
import resource
import statistics
import time

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # the cost of compiling is one of the figures
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch  # noqa: E402
from torch._dynamo import compiled_autograd  # noqa: E402

MODES = ("eager", "compiled", "captured")


def prepared(function, mode):
    return function if mode == "eager" else torch.compile(function)


def scope(mode):
    if mode == "captured":
        return compiled_autograd._enable(torch.compile)
    return compiled_autograd._disable()


def processor_ns():
    """Of this process and the compilers that it called."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e9 * (own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime)


def milliseconds(f):
    clock = processor_ns if options.threads == 1 else time.perf_counter_ns
    begin = clock()
    f()
    return (clock() - begin) / 1e6


def typical(times):
    return statistics.median(times) if options.threads == 1 else min(times)


def hit(make, run, size):
    """Of a few samples, each of several graphs: fewer where these are large."""
    graphs = max(1, min(50, 1_000_000 // (size + 1)))
    samples = 3 if options.smoke else 31 if size < 1_000_000 else 11
    clock = time.thread_time_ns if options.threads == 1 else time.perf_counter_ns
    times = []
    for _ in range(samples + 2):
        alive = [make() for _ in range(graphs)]
        begin = clock()
        for graph in alive:
            run(graph)
        times.append((clock() - begin) / 1e3 / graphs)
        del alive
    return typical(times[2:])


def begin_anew():
    torch._dynamo.reset()
    torch.compiler.reset()
    compiled_autograd.reset()
    gc.collect()


def leaf(n):
    x = torch.linspace(-1, 1, n, requires_grad=True)
    x.grad = torch.full((n,), 0.25)
    return x


def shift(x):
    return x + 10


def total(x):
    return x.sum()


def bend(x):
    return x.tanh()


def product(x, a):
    return x * a


def scale(x):
    return x * 1.01


def heading(*columns):
    print("".join(f"{c:>13}" for c in columns), flush=True)


def tutorial_model(mode):
    first, second, last = prepared(shift, mode), prepared(shift, mode), prepared(total, mode)

    def forward(x, hook, extra=False):
        h = first(x)
        if hook:
            h.register_hook(lambda g: g + 10)
        h = second(h)
        return last(first(h) if extra else h)

    return forward


def tutorial():
    print("\ntutorial: x + 10, + 10, sum; a hook is g + 10")
    heading("n", "hook", "mode", "hit us", "first ms", "new shape ms", "3rd shape ms", "new node ms")
    for n in [10, 1_000, 100_000, 10_000_000]:
        if options.smoke and n > 1_000 or n < options.least:
            continue
        for hook in (False, True):
            for mode in MODES:
                begin_anew()
                forward = tutorial_model(mode)
                x = leaf(n)
                with scope(mode):
                    first = milliseconds(lambda: forward(x, hook).backward())
                    time_of_hit = hit(lambda: forward(x, hook), lambda y: y.backward(), n)
                    misses = []
                    if n == 10:
                        for other in (n + 7, 3 * n):
                            y = forward(leaf(other), hook)
                            misses.append(milliseconds(y.backward))
                        y = forward(x, hook, extra=True)
                        misses.append(milliseconds(y.backward))
                heading(n, "g+10" if hook else "no", mode, f"{time_of_hit:.1f}", f"{first:.1f}", *(f"{m:.2f}" for m in misses))


def work():
    print("\nwork: tanh, times a saved array, tanh, with a seed; a hook is g * 0.5")
    heading("n", "hook", "mode", "hit us", "first ms", "new shape ms")
    for n in [1_000, 10_000, 100_000, 1_000_000, 10_000_000]:
        if options.smoke and n > 1_000 or n < options.least:
            continue
        for hook in (False, True):
            for mode in MODES:
                begin_anew()
                first, second, third = prepared(bend, mode), prepared(product, mode), prepared(bend, mode)

                def forward(x, a):
                    h = first(x)
                    if hook:
                        h.register_hook(lambda g: g * 0.5)
                    return third(second(h, a))

                x, a, seed = leaf(n), torch.linspace(0.5, 1.5, n), torch.full((n,), 1e-6)
                with scope(mode):
                    time_of_first = milliseconds(lambda: forward(x, a).backward(seed))
                    time_of_hit = hit(lambda: forward(x, a), lambda y: y.backward(seed), n)
                    misses = []
                    if n == 1_000:
                        y = forward(leaf(n + 7), torch.linspace(0.5, 1.5, n + 7))
                        misses.append(milliseconds(lambda: y.backward(torch.full((n + 7,), 1e-6))))
                figures = [f"{time_of_hit:.1f}", f"{time_of_first:.1f}", *(f"{m:.2f}" for m in misses)]
                heading(n, "g*0.5" if hook else "no", mode, *figures)


def chains():
    print("\nchains of x * 1.01, 16 elements; the forward is eager")
    heading("nodes", "mode", "hit us", "us a node", "first ms")
    seed = torch.full((16,), 1.0)
    for length in [1, 10, 100, 1_000]:
        for mode in ("eager", "captured"):
            if mode == "captured" and length > (10 if options.smoke else options.longest):
                continue
            begin_anew()
            x = leaf(16)

            def forward():
                y = scale(x)
                for _ in range(length - 1):
                    y = scale(y)
                return y

            with scope(mode):
                first = milliseconds(lambda: forward().backward(seed))
                time_of_hit = hit(forward, lambda y: y.backward(seed), length * 1_000)
            heading(length, mode, f"{time_of_hit:.1f}", f"{time_of_hit / length:.2f}", f"{first:.1f}")


def network():
    print("\nnetwork 64 -> 128 tanh -> 10, batch 32, float: a whole step, forward, backward and sgd")
    torch.manual_seed(7)
    x, t = torch.randn(32, 64), torch.arange(32) * 7 % 10
    start = [0.1 * torch.randn(64, 128), 0.1 * torch.randn(128), 0.1 * torch.randn(128, 10), torch.zeros(10)]
    rate = 1e-3

    def hidden(x, w, b):
        return torch.tanh(x @ w + b)

    def loss(h, w, b):
        return torch.nn.functional.cross_entropy(h @ w + b, t)

    def parameters(in_hooks):
        p = [s.clone().requires_grad_() for s in start]

        @torch.no_grad()
        def descend(v):
            v.sub_(v.grad, alpha=rate)
            v.grad = None

        if in_hooks:
            for v in p:
                v.register_post_accumulate_grad_hook(descend)
        return p

    heading("regions", "mode", "step us", "first ms")

    def row(what, mode, step):
        first = milliseconds(step)
        time_of_hit = hit(lambda: None, lambda _: step(), 20_000)
        heading(what, mode, f"{time_of_hit:.1f}", f"{first:.1f}")

    for mode in ("eager", "one graph"):
        begin_anew()
        p = parameters(False)

        def whole_step():
            value = loss(hidden(x, p[0], p[1]), p[2], p[3])
            gradients = torch.autograd.grad(value, p)
            with torch.no_grad():
                for v, g in zip(p, gradients):
                    v.sub_(g, alpha=rate)
            return value.detach()

        with torch._dynamo.config.patch(trace_autograd_ops=True):
            row("one", mode, whole_step if mode == "eager" else torch.compile(whole_step, fullgraph=True))
    for mode in MODES:
        begin_anew()
        p = parameters(True)
        first, second = prepared(hidden, mode), prepared(loss, mode)

        def step():
            h = first(x, p[0], p[1])
            h.register_hook(lambda g: g * 0.5)
            second(h, p[2], p[3]).backward()

        with scope(mode):
            row("two, hooks", mode, step)


parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--least", type=int, default=0, help="the least n of tutorial and work: small ones run in one thread anyway")
parser.add_argument("--smoke", action="store_true")
parser.add_argument("--longest", type=int, default=100, help="the longest chain that is captured: 1000 nodes take minutes to compile")
parser.add_argument("tables", nargs="*")
options = parser.parse_args()
torch.set_num_threads(options.threads)
gc.disable()
print(f"PyTorch {torch.__version__}, {options.threads} thread(s), {'processor time, medians' if options.threads == 1 else 'minima'}")
with scope("captured"):  # the process does this once
    torch.compile(shift)(leaf(5)).sum().backward()
for table in (tutorial, work, chains, network):
    if not options.tables or table.__name__ in options.tables:
        table()
