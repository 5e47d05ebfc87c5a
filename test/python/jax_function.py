# test/python/jax_function.py — examples/python/with_jax.py: JAX's grad, jit and vmap with ebb's gradient; and JAX's arrays in the module.
# SPDX-License-Identifier: BSL-1.0
import unittest

import reference
import numpy as np

jax = reference.needs("jax")
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

import robust
import with_jax


def by_jax(p, x, y):
    r = (y - x @ p[:-1]) * jnp.exp(-p[-1])
    return 2.5 * jnp.mean(jnp.log1p(0.25 * r * r)) + p[-1]


class Function(unittest.TestCase):
    def test_value_and_grad_under_jit(self):
        for dtype, error in ("f8", 1e-13), ("f4", 1e-5):
            p, x, y = map(jnp.asarray, reference.data(60, 3, dtype))
            for transform in (lambda f: f), jax.jit:
                # Other operations before and after it.
                got, wanted = (transform(jax.value_and_grad(lambda q: 3 * f(2 * q, x, y)))(p) for f in (with_jax.loss, by_jax))
                np.testing.assert_allclose(got[0], wanted[0], rtol=error, atol=error)
                np.testing.assert_allclose(got[1], wanted[1], rtol=error, atol=error)
                self.assertEqual(got[1].dtype, np.dtype(dtype))

    def test_vmap(self):
        p, x, y = map(jnp.asarray, reference.data(60, 3))
        many = jnp.stack([p, 2 * p, -p])
        got, wanted = (jax.vmap(jax.grad(f), (0, None, None))(many, x, y) for f in (with_jax.loss, by_jax))
        np.testing.assert_allclose(got, wanted, atol=1e-13)

    def test_large_arrays(self):
        p, x, y = map(jnp.asarray, reference.data(200000, 4))
        got, wanted = (jax.jit(jax.grad(f))(p, x, y) for f in (with_jax.loss, by_jax))
        np.testing.assert_allclose(got, wanted, atol=1e-12)

    def test_what_has_no_gradient_is_nan(self):
        by_x, by_y = jax.grad(with_jax.loss, (1, 2))(*map(jnp.asarray, reference.data(6, 3)))
        self.assertTrue(jnp.isnan(by_x).all() and jnp.isnan(by_y).all())


class Arrays(unittest.TestCase):
    def test_jax_arrays_are_read_and_not_written(self):
        data = reference.data(60, 3)
        p, x, y = map(jnp.asarray, data)
        self.assertEqual(robust.loss(p, x, y), robust.loss(*data))
        with self.assertRaisesRegex(robust.Error, "expected an array that can be written, found one that is read-only"):
            robust.value_and_grad(p, x, y, out=jnp.zeros(4))

    def test_a_result_becomes_a_jax_array(self):
        slope = robust.value_and_grad(*reference.data(60, 3))[1]
        np.testing.assert_array_equal(jax.dlpack.from_dlpack(slope), np.asarray(slope))


if __name__ == "__main__":
    unittest.main()
