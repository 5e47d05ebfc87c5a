# examples/python/with_jax.py — the function as one of JAX, for jit, grad and vmap: a callback, and ebb's gradient as its derivative.
# SPDX-License-Identifier: BSL-1.0
import jax
import jax.numpy as jnp
import numpy

import robust


def _value(p, x, y):
    return numpy.asarray(robust.loss(p, x, y), p.dtype)


def _value_and_grad(p, x, y):
    value, slope = robust.value_and_grad(p, x, y)
    return numpy.asarray(value, p.dtype), numpy.asarray(slope)


@jax.custom_vjp
def loss(p, x, y):
    return jax.pure_callback(_value, jax.ShapeDtypeStruct((), p.dtype), p, x, y, vmap_method="sequential")


def _forward(p, x, y):
    results = jax.ShapeDtypeStruct((), p.dtype), jax.ShapeDtypeStruct(p.shape, p.dtype)
    value, slope = jax.pure_callback(_value_and_grad, results, p, x, y, vmap_method="sequential")
    return value, (slope, x, y)


def _backward(kept, g):
    slope, x, y = kept
    return g * slope, jnp.full_like(x, jnp.nan), jnp.full_like(y, jnp.nan)  # robust has the gradient by p only: a NaN says so


loss.defvjp(_forward, _backward)
