# examples/pytorch_weights/train.py — trains the network in PyTorch and saves what main.cpp reads; with a file, goes on where ebb stopped.
# SPDX-License-Identifier: BSL-1.0
#
#   python3 -m venv /tmp/weights && /tmp/weights/bin/pip install torch==2.13.0 safetensors==0.8.0 numpy==2.4.6
#   /tmp/weights/bin/python examples/pytorch_weights/train.py                             writes model.safetensors, recorded.safetensors
#   /tmp/weights/bin/python examples/pytorch_weights/train.py from_ebb.safetensors        reads what main.cpp has written
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

here = pathlib.Path(__file__).parent
torch.manual_seed(0)
torch.set_num_threads(1)

lines = (here / "../data/digits/digits.txt").read_text().split("\n")[:-1]
images = torch.tensor([["0123456789abcdefg".index(c) / 16 for c in line[:64]] for line in lines])
labels = torch.tensor([int(line[65:]) for line in lines])
training, held_out = slice(0, 1500), slice(1500, None)

model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
batch = 50


def step(number):
    rows = slice(number * batch % 1500, number * batch % 1500 + batch)
    loss = torch.nn.functional.cross_entropy(model(images[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def accuracy():
    return (model(images[held_out]).argmax(1) == labels[held_out]).float().mean().item()


if len(sys.argv) == 1:
    for number in range(300):
        step(number)
    print(f"held-out accuracy {accuracy():.3f}")
    arrays = {"model." + name: value for name, value in model.state_dict().items()}
    for number, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            arrays[f"optimizer.state.{number}.{name}"] = value
    save_file(arrays, here / "model.safetensors", metadata={"format": "pt"})
    logits = model(images[held_out]).detach()
    losses = torch.tensor([step(number) for number in range(60)])
    save_file({"logits": logits, "losses": losses}, here / "recorded.safetensors")
else:
    arrays = load_file(sys.argv[1])
    model.load_state_dict({name.removeprefix("model."): a for name, a in arrays.items() if name.startswith("model.")})
    state = {n: {k: arrays[f"optimizer.state.{n}.{k}"].float() if k == "step" else arrays[f"optimizer.state.{n}.{k}"]
                 for k in ("step", "exp_avg", "exp_avg_sq")} for n in range(4)}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    print(f"held-out accuracy {accuracy():.3f}, loss of the next step {step(0):.6f}")
