# test/python/torch_function.py — examples/python/with_torch.py: ebb's gradient in PyTorch's autograd; tensors in the module.
# SPDX-License-Identifier: BSL-1.0
import unittest

import reference
import numpy as np

torch = reference.needs("torch")

import robust
from with_torch import Loss


def tensors(dtype="f8"):
    return [torch.from_numpy(a.copy()) for a in reference.data(60, 3, dtype)]


def by_torch(p, x, y):
    r = (y - x @ p[:-1]) * torch.exp(-p[-1])
    return 2.5 * torch.mean(torch.log1p(0.25 * r * r)) + p[-1]


class Function(unittest.TestCase):
    def test_gradcheck(self):
        p, x, y = tensors()
        self.assertTrue(torch.autograd.gradcheck(Loss.apply, (p.requires_grad_(), x, y)))

    def test_the_gradient_is_that_of_pytorch(self):
        for dtype, error in ("f8", 1e-14), ("f4", 1e-6):
            p, x, y = tensors(dtype)
            q = p.clone().requires_grad_()
            p.requires_grad_()
            for loss, parameters in (Loss.apply, p), (by_torch, q):
                (3 * loss(2 * parameters, x, y)).backward()  # other nodes before and after it
            torch.testing.assert_close(p.grad, q.grad, rtol=10 * error, atol=10 * error)
            torch.testing.assert_close(Loss.apply(p, x, y), by_torch(q, x, y), rtol=10 * error, atol=10 * error)

    def test_what_has_no_gradient_is_refused(self):
        p, x, y = tensors()
        with self.assertRaisesRegex(NotImplementedError, "by p only"):
            Loss.apply(p, x.requires_grad_(), y)
        p, x, y = tensors()
        slope, = torch.autograd.grad(Loss.apply(p.requires_grad_(), x, y) ** 2, p, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            slope.sum().backward()

    def test_steps_are_those_of_sgd(self):
        p, x, y = tensors()
        q, v, at = p.clone().requires_grad_(), torch.zeros_like(p), p.data_ptr()
        descent = torch.optim.SGD([q], lr=0.1, momentum=0.9)
        for _ in range(20):
            descent.zero_grad()
            loss = by_torch(q, x, y)
            loss.backward()
            descent.step()
            self.assertAlmostEqual(robust.step(p, v, x, y, rate=0.1), loss.item(), delta=1e-12)
        self.assertEqual(p.data_ptr(), at)
        torch.testing.assert_close(p, q.detach(), rtol=1e-11, atol=1e-11)


class Tensors(unittest.TestCase):
    def test_strided_tensors(self):
        p, x, y = tensors()
        value, slope = robust.value_and_grad(p, x, y)
        got, same = robust.value_and_grad(p, x.T.contiguous().T, torch.stack([y, y], 1)[:, 0])
        self.assertEqual(got, value)
        self.assertTrue(torch.equal(torch.from_dlpack(slope), torch.from_dlpack(same)))

    def test_a_result_shares_its_memory(self):
        p, x, y = tensors()
        slope = robust.value_and_grad(p, x, y)[1]
        tensor = torch.from_dlpack(slope)
        self.assertEqual(tensor.data_ptr(), np.asarray(slope).__array_interface__["data"][0])
        tensor.fill_(3)
        self.assertEqual(np.asarray(slope).tolist(), [3.0] * 4)

    def test_refused(self):
        p, x, y = tensors()
        with self.assertRaisesRegex(robust.Error, r"robust.loss: x: expected f64 of shape \[dyn, dyn\], found bf16 of shape \[60, 3\]"):
            robust.loss(p, x.bfloat16(), y)
        with self.assertRaisesRegex(robust.Error, "out: expected elements to be written in memory of their own"):
            robust.value_and_grad(p, x, y, out=torch.zeros(1, dtype=torch.float64).expand(4))
        with self.assertRaisesRegex(BufferError, "requires? grad"):
            robust.loss(p.requires_grad_(), x, y)


if __name__ == "__main__":
    unittest.main()
