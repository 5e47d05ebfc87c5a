# bench/peers/gru.py — the GRU of bench/loops in PyTorch: loss and gradients, microseconds a letter.
# SPDX-License-Identifier: BSL-1.0
#
#   python3 bench/peers/gru.py [--smoke] [--threads N]
#
# "cells" is a loop of torch.nn.GRUCell, "layer" is torch.nn.GRU, both eager. Times are medians of processor time.
import argparse
import gc
import statistics
import time

import torch
import torch.nn.functional as F

LETTERS, WIDTH, LENGTH = 31, 48, 24


class Network(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.table = torch.nn.Embedding(LETTERS, WIDTH)
        self.reader = torch.nn.GRU(WIDTH, WIDTH) if layer else torch.nn.GRUCell(WIDTH, WIDTH)
        self.out = torch.nn.Linear(WIDTH, LETTERS)

    def states(self, texts):
        x = self.table(texts)
        if isinstance(self.reader, torch.nn.GRU):
            return self.reader(x)[0]
        h, all_states = torch.zeros(texts.shape[1], WIDTH), []
        for letter in x:
            h = self.reader(letter, h)
            all_states.append(h)
        return torch.stack(all_states)

    def loss(self, texts, following):
        return F.cross_entropy(self.out(self.states(texts)).flatten(0, 1), following.flatten())


def microseconds(step, rounds):
    times = []
    for _ in range(rounds + 2):
        begin = time.thread_time_ns() if options.threads == 1 else time.perf_counter_ns()
        for _ in range(5):
            step()
        end = time.thread_time_ns() if options.threads == 1 else time.perf_counter_ns()
        times.append((end - begin) / 5e3 / LENGTH)
    return statistics.median(times[2:])


parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--smoke", action="store_true")
options = parser.parse_args()
torch.set_num_threads(options.threads)
gc.disable()
print(f"PyTorch {torch.__version__}, {options.threads} thread(s)")
print(f"a GRU of {WIDTH} numbers reads {LENGTH} letters, loss and gradients: us a letter")
print(f"{'texts side by side':<20}{'cells':>11}{'layer':>11}")
for batch in (1, 8, 64):
    i, j = torch.arange(LENGTH + 1)[:, None], torch.arange(batch)[None, :]
    text = (i * 7 + j * 11 + i * i * j) % LETTERS
    figures = []
    for layer in (False, True):
        torch.manual_seed(7)
        net = Network(layer)

        def step():
            net.zero_grad()
            net.loss(text[:-1], text[1:]).backward()

        figures.append(microseconds(step, 3 if options.smoke else 31))
    print(f"{batch:<20}" + "".join(f"{f:>11.2f}" for f in figures), flush=True)
