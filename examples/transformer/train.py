# examples/transformer/train.py — the same network in PyTorch, with the same first weights, windows of text and learning rates.
# SPDX-License-Identifier: BSL-1.0
#
#   bash examples/run.sh transformer --first first.safetensors       writes the first weights
#   pip install torch==2.13.0 safetensors==0.8.0 numpy
#   python3 examples/transformer/train.py first.safetensors          writes recorded.safetensors beside this file
import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

here = os.path.dirname(os.path.abspath(__file__))
batch, length, width, heads, steps, blocks = 16, 64, 64, 4, 600, 2

torch.set_num_threads(1)
text = open(os.path.join(here, "../data/coriolanus/coriolanus.txt"), "rb").read()
alphabet = sorted(set(text))
numbers = torch.tensor([alphabet.index(c) for c in text])
held_out = len(text) * 9 // 10  # the last tenth

p = {name: value.requires_grad_() for name, value in load_file(sys.argv[1]).items()}


def logits(ids):
    x = p["table"][ids] + p["places"]
    for b in range(blocks):
        w = {name[2:]: value for name, value in p.items() if name.startswith("ab"[b] + ".")}
        n = F.layer_norm(x, (width,), w["norm1"], w["shift1"])
        q, k, v = (y.view(-1, length, heads, width // heads).transpose(1, 2) for y in F.linear(n, w["qkv"]).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(-1, length, width)
        x = x + F.linear(y, w["out"])
        n = F.layer_norm(x, (width,), w["norm2"], w["shift2"])
        x = x + F.linear(F.gelu(F.linear(n, w["up"], w["up_bias"])), w["down"], w["down_bias"])
    return F.linear(F.layer_norm(x, (width,), p["norm"], p["shift"]), p["table"])


def loss(windows):
    return F.cross_entropy(logits(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def training(step):  # windows that begin anywhere in the first nine tenths
    begins = [(step * batch + i) * 7919 % (held_out - length) for i in range(batch)]
    return torch.stack([numbers[b : b + length + 1] for b in begins])


def testing():
    begins = range(held_out, len(text) - length, length)
    return torch.stack([numbers[b : b + length + 1] for b in begins])


adam = torch.optim.Adam(p.values())
losses, begin = [], time.perf_counter()
for step in range(steps):
    rate = 3e-3 * (1 + math.cos(math.pi * step / steps)) / 2
    adam.param_groups[0]["lr"] = min(rate, rate * (step + 1) / 50)
    value = loss(training(step))
    adam.zero_grad()
    value.backward()
    adam.step()
    losses.append(value.item())
seconds = time.perf_counter() - begin
with torch.no_grad():
    held_out_loss = loss(testing())
print(f"held out {held_out_loss.item() / math.log(2):.4f} bits a character; {seconds / steps * 1e3:.1f} ms a step")
if len(sys.argv) < 3:
    save_file({"losses": torch.tensor(losses), "held_out": held_out_loss}, os.path.join(here, "recorded.safetensors"))
