# test/python/scipy_minimize.py — examples/python/with_scipy.py: SciPy's minimize with ebb's gradient, and SciPy's own check of it.
# SPDX-License-Identifier: BSL-1.0
import unittest

import reference
import numpy as np

reference.needs("scipy", "python3-scipy")
import scipy.optimize

import robust
import with_scipy


class Minimize(unittest.TestCase):
    def test_the_gradient_vanishes_where_minimize_ends(self):
        _, x, y = reference.data(200, 4)
        found = with_scipy.fit(x, y)
        self.assertTrue(found.success, found.message)
        value, slope = reference.value_and_grad(found.x, x, y)
        self.assertLess(np.abs(slope).max(), 1e-5)
        self.assertAlmostEqual(found.fun, value, delta=1e-12)
        by_differences = scipy.optimize.minimize(lambda p: reference.value_and_grad(p, x, y)[0], np.zeros(5))
        np.testing.assert_allclose(found.x, by_differences.x, atol=1e-4)

    def test_check_grad(self):
        p, x, y = reference.data(50, 3)
        error = scipy.optimize.check_grad(lambda q: robust.loss(q, x, y), lambda q: np.asarray(robust.value_and_grad(q, x, y)[1]), p)
        self.assertLess(error, 1e-6)


if __name__ == "__main__":
    unittest.main()
