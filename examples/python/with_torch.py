# examples/python/with_torch.py — the function as one of PyTorch's autograd: its backward is ebb's gradient.
# SPDX-License-Identifier: BSL-1.0
import torch

import robust


class Loss(torch.autograd.Function):
    """Loss.apply(p, x, y): a scalar that can be differentiated by p, once."""

    @staticmethod
    def forward(ctx, p, x, y):
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            raise NotImplementedError("robust has the gradient by p only: detach x and y")
        slope = torch.empty_like(p)
        value, _ = robust.value_and_grad(p.detach(), x, y, out=slope)  # written into PyTorch's memory
        ctx.save_for_backward(slope)
        return p.new_tensor(value)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        slope, = ctx.saved_tensors
        return g * slope, None, None
