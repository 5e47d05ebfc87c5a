# examples/python/with_scipy.py — SciPy's minimize, with the value and the gradient that ebb has compiled.
# SPDX-License-Identifier: BSL-1.0
import numpy
import scipy.optimize

import robust


def fit(x, y):
    """The parameters of least loss, as SciPy reports them."""
    def value_and_grad(p):
        value, slope = robust.value_and_grad(p, x, y)
        return value, numpy.asarray(slope)  # without a copy

    return scipy.optimize.minimize(value_and_grad, numpy.zeros(x.shape[1] + 1), jac=True)
