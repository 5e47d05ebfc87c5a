# bench/peers/steps.py — steps of the networks of bench/peers/steps in PyTorch, in turns with ebb's program.
# SPDX-License-Identifier: BSL-1.0
#
#   python bench/peers/steps.py <bench.steps> [--smoke] [network...]        networks: transformer convnet
#
# ebb's program writes the first weights, and waits while PyTorch takes its steps. All see the same batches. Times are processor time of
# one thread: the median of the rounds; a ratio is the median of the rounds' ratios. "eager" and "compiled" (torch.compile of the loss)
# both use the fused Adam, which is PyTorch's fastest. The losses after the same number of steps must agree.
import argparse
import os
import statistics
import subprocess
import tempfile
import time

import numpy
import torch
import torch.nn.functional as F

data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/data")


class Transformer:
    width, heads, letters, reach, batch, different = 64, 4, 61, 64, 16, 64

    def __init__(self):
        text = open(os.path.join(data, "coriolanus/coriolanus.txt"), "rb").read()
        alphabet = sorted(set(text))
        numbers = torch.tensor([alphabet.index(c) for c in text])
        self.batches = []
        for b in range(self.different):
            begins = [(b * self.batch + i) * 7919 % (len(text) - self.reach) for i in range(self.batch)]
            windows = torch.stack([numbers[i : i + self.reach + 1] for i in begins])
            self.batches.append((windows[:, :-1].contiguous(), windows[:, 1:].contiguous()))

    def shapes(self):
        d = self.width
        block = [(d,), (d,), (3 * d, d), (d, d), (d,), (d,), (4 * d, d), (4 * d,), (d, 4 * d), (d,)]
        return [(self.letters, d), (self.reach, d), *block, *block, (d,), (d,)]

    def loss(self, p, windows, following):
        table, places, norm, shift = p[0], p[1], p[-2], p[-1]
        x = table[windows] + places
        for b in range(2):
            norm1, shift1, qkv, out, norm2, shift2, up, up_bias, down, down_bias = p[2 + 10 * b : 12 + 10 * b]
            n = F.layer_norm(x, (self.width,), norm1, shift1)
            q, k, v = (y.view(-1, self.reach, self.heads, self.width // self.heads).transpose(1, 2) for y in F.linear(n, qkv).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(-1, self.reach, self.width)
            x = x + F.linear(y, out)
            n = F.layer_norm(x, (self.width,), norm2, shift2)
            x = x + F.linear(F.gelu(F.linear(n, up, up_bias)), down, down_bias)
        scores = F.linear(F.layer_norm(x, (self.width,), norm, shift), table)
        return F.cross_entropy(scores.flatten(0, 1), following.flatten())


class Convnet:
    def __init__(self):
        lines = open(os.path.join(data, "digits/digits.txt")).read().split("\n")[: 1500 // 64 * 64]
        images = torch.tensor([["0123456789abcdefg".index(c) / 16 for c in line[:64]] for line in lines])
        labels = torch.tensor([int(line[65]) for line in lines])
        self.batches = [(x.view(-1, 1, 8, 8), t) for x, t in zip(images.split(64), labels.split(64))]

    def shapes(self):
        layers = []
        for inner, outer in ((1, 16), (16, 16), (16, 32), (32, 32)):
            layers += [(outer, inner, 3, 3), (outer,), (outer,)]
        return [*layers, (10, 32), (10,)]

    def loss(self, p, images, labels):
        x = images
        for i in range(4):
            weight, scale, shift = p[3 * i : 3 * i + 3]
            x = F.relu(F.batch_norm(F.conv2d(x, weight, padding=1), None, None, scale, shift, training=True))
            if i == 1:
                x = F.max_pool2d(x, 2)
        return F.cross_entropy(F.linear(x.mean((2, 3)), p[-2], p[-1]), labels, label_smoothing=0.1)


class Ebb:
    """ebb's program, which takes as many steps as it is told."""

    def __init__(self, program, name):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "first")
            self.process = subprocess.Popen([program, "--first", path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if self.process.stdout.readline() != "ready\n":
                raise SystemExit(f"{program} does not answer")
            self.first = torch.from_numpy(numpy.fromfile(path, dtype=numpy.float32))

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        milliseconds, loss = self.process.stdout.readline().split()
        return float(milliseconds), float(loss)


class PyTorch:
    def __init__(self, network, first, compiled):
        self.batches, self.done = network.batches, 0
        shapes = network.shapes()
        sizes = [int(numpy.prod(s)) for s in shapes]
        if sum(sizes) != first.numel():
            raise SystemExit(f"{first.numel()} weights were expected to be {sum(sizes)}")
        self.parameters = [x.clone().view(s).requires_grad_() for x, s in zip(first.split(sizes), shapes)]
        self.loss = torch.compile(network.loss) if compiled else network.loss
        self.adam = torch.optim.Adam(self.parameters, lr=1e-3, fused=True)

    def steps(self, count):
        begin = time.thread_time()
        for _ in range(count):
            value = self.loss(self.parameters, *self.batches[self.done % len(self.batches)])
            value.backward()
            self.adam.step()
            self.adam.zero_grad()
            self.done += 1
        return 1e3 * (time.thread_time() - begin) / count, value.item()


parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--smoke", action="store_true")
parser.add_argument("networks", nargs="*")
options = parser.parse_args()
torch.set_num_threads(1)
print(f"PyTorch {torch.__version__}, one thread: milliseconds of a step, and ebb's over it (goal)")
wrong = False
for network, goals in ((Transformer, (0.35, 0.8)), (Convnet, (0.5, 0.9))):
    name = network.__name__.lower()
    if options.networks and name not in options.networks:
        continue
    ebb = Ebb(options.program, name)
    given = network()
    all = [ebb, PyTorch(given, ebb.first, False), PyTorch(given, ebb.first, True)]
    losses = [one.steps(10)[1] for one in all]  # these also compile
    apart = max(losses) - min(losses)
    wrong |= apart > 1e-3
    rounds = []
    for i in range(3 if options.smoke else 31):
        order = [(i + k) % 3 for k in range(3)]
        times = {k: all[k].steps(10)[0] for k in order}
        rounds.append([times[k] for k in range(3)])
    time_of = [statistics.median(r[k] for r in rounds) for k in range(3)]
    ratio = [statistics.median(r[0] / r[k] for r in rounds) for k in range(3)]
    print(f"{name:12} ebb {time_of[0]:6.2f}   eager {time_of[1]:6.2f}: {ratio[1]:.2f} ({goals[0]})   "
          f"compiled {time_of[2]:6.2f}: {ratio[2]:.2f} ({goals[1]})   losses after 10 steps differ by {apart:.0e}", flush=True)
    ebb.process.stdin.close()
raise SystemExit(wrong)
