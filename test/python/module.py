# test/python/module.py — the module `robust` on NumPy's arrays: values, memory, lifetimes, what is refused, and the GIL.
# SPDX-License-Identifier: BSL-1.0
import gc
import resource
import sys
import threading
import time
import unittest

import reference
import numpy as np

import robust

P, X, Y = reference.data(37, 3)


def exact(p, x, y):
    return reference.value_and_grad(*(np.asarray(a).astype(np.longdouble) for a in (p, x, y)))


class Only:
    """An object with nothing but __dlpack__, as producers have it that know no versions."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        self.capsule = self.array.__dlpack__()
        return self.capsule


class OnlyVersioned(Only):
    def __dlpack__(self, max_version=None):
        self.capsule = self.array.__dlpack__(max_version=max_version)
        return self.capsule


class Values(unittest.TestCase):
    def test_value_and_gradient_are_those_of_long_double(self):
        for dtype, rows, error in ("f8", 37, 1e-14), ("f4", 37, 1e-6), ("f8", 1000, 1e-13), ("f8", 1, 1e-14):
            p, x, y = reference.data(rows, 3, dtype)
            value, slope = exact(p, x, y)
            got, got_slope = robust.value_and_grad(p, x, y)
            self.assertAlmostEqual(got, float(value), delta=10 * error)
            np.testing.assert_allclose(np.asarray(got_slope), slope.astype("f8"), rtol=0, atol=10 * error)
            self.assertEqual(np.asarray(got_slope).dtype, np.dtype(dtype))
            self.assertAlmostEqual(robust.loss(p, x, y), float(value), delta=10 * error)

    def test_the_reference_is_the_derivative(self):
        p, x, y = (a.astype(np.longdouble) for a in (P, X, Y))
        _, slope = reference.value_and_grad(p, x, y)
        for i in range(len(p)):
            step = np.zeros_like(p)
            step[i] = 1e-6
            up, down = (reference.value_and_grad(p + s, x, y)[0] for s in (step, -step))
            self.assertAlmostEqual(float((up - down) / 2e-6), float(slope[i]), delta=1e-9)

    def test_steps_are_those_of_the_formula(self):
        p, v = P.copy(), np.zeros_like(P)
        q, u = p.astype(np.longdouble), v.astype(np.longdouble)
        for _ in range(7):
            value, slope = exact(q, X, Y)
            u = np.longdouble(0.5) * u + slope
            q = q - np.longdouble(0.1) * u
            self.assertAlmostEqual(robust.step(p, v, X, Y, 0.1, 0.5), float(value), delta=1e-13)
        np.testing.assert_allclose(p, q.astype("f8"), rtol=0, atol=1e-13)
        np.testing.assert_allclose(v, u.astype("f8"), rtol=0, atol=1e-13)

    def test_fit_has_the_bits_of_its_steps(self):
        p, v, q, u = P.copy(), np.zeros_like(P), P.copy(), np.zeros_like(P)
        for _ in range(30):
            last = robust.step(p, v, X, Y, rate=0.05)
        self.assertEqual(robust.fit(q, u, X, Y, rate=0.05, steps=30), (30, last))
        self.assertEqual(p.tobytes() + v.tobytes(), q.tobytes() + u.tobytes())
        for none in {"steps": 0}, {"steps": -3}, {"stop": np.ones(1, "i4")}:
            done, loss = robust.fit(q, u, X, Y, rate=0.05, **none)
            self.assertEqual(done, 0)
            self.assertTrue(np.isnan(loss))
        self.assertEqual(p.tobytes() + v.tobytes(), q.tobytes() + u.tobytes())


class Memory(unittest.TestCase):
    def test_out_is_written_where_it_is(self):
        whole = np.full(8, 7.0)
        out = whole[2:6]
        value, same = robust.value_and_grad(P, X, Y, out=out)
        self.assertIs(same, out)
        fresh = robust.value_and_grad(P, X, Y)
        self.assertEqual(value, fresh[0])
        self.assertEqual(out.tobytes(), np.asarray(fresh[1]).tobytes())
        self.assertEqual(whole[[0, 1, 6, 7]].tolist(), [7.0] * 4)

    def test_strided_arrays_have_the_values_of_their_copies(self):
        value, slope = robust.value_and_grad(P, X, Y)
        slope = np.asarray(slope)
        wide = np.full((74, 5), 9.0)
        wide[::2, 1:4] = X
        long = np.full(74, 9.0)
        long[::-2] = Y
        for x in np.asfortranarray(X), X.T.copy().T, wide[::2, 1:4], X[::-1].copy()[::-1]:
            self.assertFalse(x.flags.c_contiguous)
            for y in Y, long[::-2]:
                out = np.full(8, 9.0)
                got, _ = robust.value_and_grad(P, x, y, out=out[1::2])
                self.assertEqual(got, value)
                self.assertEqual(out[1::2].tobytes(), slope.tobytes())
                self.assertEqual(out[::2].tolist(), [9.0] * 4)
        p, v = np.repeat(P, 2), np.zeros(8)
        q, u = P.copy(), np.zeros(4)
        robust.step(p[::2], v[::2], wide[::2, 1:4], Y, 0.1)
        robust.step(q, u, X, Y, 0.1)
        self.assertEqual(p[::2].tobytes() + v[::2].tobytes(), q.tobytes() + u.tobytes())
        self.assertEqual(p[1::2].tobytes(), P.tobytes())

    def test_arguments_may_be_read_only_and_destinations_may_not(self):
        p, x, y, out = P.copy(), X.copy(), Y.copy(), np.zeros(4)
        for a in p, x, y, out:
            a.flags.writeable = False
        self.assertEqual(robust.loss(p, x, y), robust.loss(P, X, Y))
        refused = "expected an array that can be written, found one that is read-only"
        with self.assertRaisesRegex(robust.Error, "^robust.value_and_grad: out: " + refused):
            robust.value_and_grad(p, x, y, out=out)
        with self.assertRaisesRegex(robust.Error, "^robust.step: p: " + refused):
            robust.step(p, np.zeros(4), x, y, 0.1)
        with self.assertRaisesRegex(robust.Error, "^robust.fit: v: " + refused):
            robust.fit(P.copy(), out, x, y, 0.1)
        self.assertEqual(out.tolist(), [0.0] * 4)

    def test_arrays_are_given_back(self):
        arrays = P.copy(), X.copy(), Y.copy(), np.zeros(4)
        p, x, y, out = arrays
        counts = [sys.getrefcount(a) for a in arrays]
        for _ in range(3):
            robust.value_and_grad(p, x, y, out=out)
            robust.step(p, out, x, y, 0.1)
            for wrong in (p, x, x), (p, y, y), (x, x, y), (p, x, y[:5]):
                with self.assertRaises(robust.Error):
                    robust.value_and_grad(*wrong)
        del wrong
        self.assertEqual(counts, [sys.getrefcount(a) for a in arrays])

    def test_a_result_is_shared_and_outlives_its_object(self):
        array = robust.value_and_grad(P, X, Y)[1]
        a, b = np.asarray(array), np.asarray(array)
        a[0] = 5
        self.assertEqual(b[0], 5)
        c = np.from_dlpack(array)
        self.assertTrue(np.shares_memory(a, c))
        self.assertEqual(array.__dlpack_device__(), (1, 0))
        self.assertEqual(memoryview(array).shape, (4,))
        robust.step(array, np.zeros(4), X, Y, 0.1)  # an argument and a destination itself
        left = a.tolist()
        del array, b
        gc.collect()
        self.assertEqual(a.tolist(), left)
        del a
        gc.collect()
        self.assertEqual(c.tolist(), left)

    def test_capsules(self):
        array = robust.value_and_grad(P, X, Y)[1]
        name = lambda capsule: repr(capsule).split('"')[1]
        self.assertEqual(name(array.__dlpack__()), "dltensor")  # and dropped: its destructor gives it back
        self.assertEqual(name(array.__dlpack__(max_version=(0, 8))), "dltensor")
        self.assertEqual(name(array.__dlpack__(max_version=(1, 3))), "dltensor_versioned")
        self.assertEqual(name(array.__dlpack__(dl_device=(1, 0), stream=None, copy=False)), "dltensor")
        for wrong in {"dl_device": (2, 0)}, {"stream": 3}:
            with self.assertRaises(BufferError):
                array.__dlpack__(**wrong)
        for wrong in 1, (1,), ("1", "0"):
            with self.assertRaises(TypeError):
                array.__dlpack__(max_version=wrong)

        class One(Only):
            def __dlpack__(self):
                return self.array

        copied = One(array.__dlpack__(copy=True))
        value, slope = robust.value_and_grad(P, X, Y)
        self.assertEqual(robust.value_and_grad(P, X, Y, out=copied)[0], value)
        with self.assertRaisesRegex(robust.Error, "expected a capsule called dltensor or dltensor_versioned"):
            robust.value_and_grad(P, X, Y, out=copied)  # taken already

    def test_objects_with_dlpack_only(self):
        array = robust.value_and_grad(P, X, Y)[1]
        np.asarray(array)[:] = P
        for kind, used in (Only, "used_dltensor"), (OnlyVersioned, "used_dltensor_versioned"):
            p = kind(array)
            self.assertEqual(robust.loss(p, X, Y), robust.loss(P, X, Y))
            self.assertIn('"%s"' % used, repr(p.capsule))
            out = kind(robust.value_and_grad(P, X, Y)[1])
            np.asarray(out.array)[:] = 0
            robust.value_and_grad(p, X, Y, out=out)
            self.assertEqual(np.asarray(out.array).tobytes(), np.asarray(robust.value_and_grad(P, X, Y)[1]).tobytes())
            refused = kind(array)
            with self.assertRaisesRegex(robust.Error, r"^robust.loss: x: expected f64 of shape \[dyn, dyn\], found f64 of shape \[4\]$"):
                robust.loss(P, refused, Y)
            self.assertNotIn("used", repr(refused.capsule))

    def test_nothing_leaks(self):
        p, x, y = np.zeros(1000001), np.ones((1, 1000000)), np.ones(1)
        for i in range(60):  # 8 MB each
            array = robust.value_and_grad(p, x, y)[1]
            array.__dlpack__(), array.__dlpack__(max_version=(1, 0)), np.from_dlpack(array), np.asarray(array)
            robust.loss(Only(array), x, y)
            if i == 5:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 100000)


class Refused(unittest.TestCase):
    def test_each_with_what_was_expected_and_found(self):
        swapped = X.astype(X.dtype.newbyteorder())
        shifted = np.frombuffer(b" " + X.tobytes(), dtype="u1")[1:].view("f8").reshape(X.shape)
        records = np.zeros(4, dtype=[("a", "f8"), ("b", "u1")])
        for arguments, text in (
            ((P, X.astype("f4"), Y), "robust.loss: x: expected f64 of shape [dyn, dyn], found f32 of shape [37, 3]"),
            ((P.astype("f4"), X, Y), "robust.loss: x: expected f32 of shape [dyn, dyn], found f64 of shape [37, 3]"),
            ((P, X[0], Y), "robust.loss: x: expected f64 of shape [dyn, dyn], found f64 of shape [3]"),
            ((P.astype("i8"), X, Y), "robust.loss: p: expected f32 or f64, found i64 of shape [4]"),
            ((P.astype("f2"), X, Y), "robust.loss: p: expected f32 or f64, found f16 of shape [4]"),
            ((P, X > 0, Y), "robust.loss: x: expected f64 of shape [dyn, dyn], found bool of shape [37, 3]"),
            ((P, X, Y.astype("u2")), "robust.loss: y: expected f64 of shape [dyn], found u16 of shape [37]"),
            ((P, X, Y.astype("c16")), "robust.loss: y: expected f64 of shape [dyn], found c128 of shape [37]"),
            ((P, swapped, Y), "robust.loss: x: expected numbers in the byte order of this machine, found elements of format '>d', "
                              "which is big-endian: convert it by x.astype(x.dtype.newbyteorder('='))"),
            ((P, X.astype(object), Y),
             "robust.loss: x: expected numbers in the byte order of this machine, found elements of format 'O'"),
            ((P, X, records),
             "robust.loss: y: expected numbers in the byte order of this machine, found elements of format 'T{=d:a:B:b:}'"),
            ((P, X, np.zeros(37, dtype=[("a", "f8"), ("b", "u1")])["a"]),
             "robust.loss: y: expected strides of whole elements, found 9 bytes between elements of 8"),
            ((P, [[1.0]], Y), "robust.loss: x: expected an array with a buffer or with __dlpack__, found <class 'list'>"),
            ((P, X, b"no"), "robust.loss: y: expected f64 of shape [dyn], found u8 of shape [2]"),
            ((P, shifted, Y), "robust.loss: x: expected elements aligned to 8 bytes, found an address "),
            ((P, X, Y[:5]),
             "ebb::compile: sub: the extents of the arguments do not fit: argument 0 is [4], argument 1 is [37, 3], argument 2 is [5]"),
            ((P[:2], X, Y),
             "ebb::compile: matmul: the extents of the arguments do not fit: argument 0 is [2], argument 1 is [37, 3], argument 2 is [37]"),
        ):
            with self.assertRaises(robust.Error) as raised:
                robust.loss(*arguments)
            self.assertEqual(str(raised.exception)[:len(text)], text)
        self.assertTrue(issubclass(robust.Error, ValueError))

    def test_destinations(self):
        once = np.ndarray((4,), "f8", buffer=np.zeros(1), strides=(0,))
        for out, text in (
            (np.zeros(4, "f4"), "robust.value_and_grad: out: expected f64 of shape [dyn], found f32 of shape [4]"),
            (np.zeros((2, 2)), "robust.value_and_grad: out: expected f64 of shape [dyn], found f64 of shape [2, 2]"),
            (np.zeros(5), "ebb::value_and_grad: "),
            (once, "robust.value_and_grad: out: expected elements to be written in memory of their own, found shape [4] with strides [0]"),
        ):
            with self.assertRaises(robust.Error) as raised:
                robust.value_and_grad(P, X, Y, out=out)
            self.assertEqual(str(raised.exception)[:len(text)], text)
            self.assertFalse(out.any())

    def test_an_error_of_the_producer_is_its_own(self):
        class Broken:
            def __dlpack__(self, **_):
                raise BufferError("mine")

        with self.assertRaisesRegex(BufferError, "^mine$"):
            robust.loss(Broken(), X, Y)


class Threads(unittest.TestCase):
    def setUp(self):
        self.interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # a thread gives the GIL away only where it waits or releases it: nothing below depends on time

    def tearDown(self):
        sys.setswitchinterval(self.interval)

    def test_another_thread_ends_a_fit(self):
        """If fit kept the GIL, the other thread could not run before the last of the steps."""
        stop, started = np.zeros(1, "i4"), threading.Event()

        def end():
            started.wait()
            stop[0] = 1

        other = threading.Thread(target=end)
        other.start()
        p, v = P.copy(), np.zeros(4)
        started.set()  # the other thread waits for the GIL from now on
        most = 3000000  # takes seconds
        done, _ = robust.fit(p, v, X, Y, rate=0.01, steps=most, stop=stop)
        other.join()
        self.assertLess(done, most)

    def test_each_function_lets_other_threads_run(self):
        p, x, y = reference.data(20000, 10)
        v = np.zeros_like(p)
        count, ends = [0], [False]

        def work():
            while not ends[0]:
                count[0] += 1
                time.sleep(0)  # gives the GIL away

        for call in (lambda: robust.loss(p, x, y), lambda: robust.value_and_grad(p, x, y), lambda: robust.step(p, v, x, y, 1e-3),
                     lambda: robust.value_and_grad(p, x, y, out=v)):
            ends[0] = False
            other = threading.Thread(target=work)
            other.start()
            progress = tries = 0
            while not progress and tries < 2000:
                before = count[0]
                call()
                progress = count[0] - before  # between these lines this thread has the GIL, unless the call releases it
                tries += 1
            ends[0] = True
            other.join()
            self.assertGreater(progress, 0)

    def test_calls_in_several_threads(self):
        problems = [reference.data(2000, 5, seed=s) for s in range(4)]
        wanted = [(robust.value_and_grad(*a)[0], np.asarray(robust.value_and_grad(*a)[1]).tobytes()) for a in problems]
        wrong = []

        def work(i):
            for _ in range(50):
                value, slope = robust.value_and_grad(*problems[i])
                if (value, np.asarray(slope).tobytes()) != wanted[i]:
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
