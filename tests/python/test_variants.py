"""variant=: each variant of a mini-app on arrays of Python, in builds that have some (TESSERA_PYTHON_VARIANTS)."""

import re
import unittest

import numpy

import tessera

DTYPE = "float32" if "float32" in tessera.dtypes else "float64"


def numbers(*shape, seed=3):
    """Whole numbers: every order of additions gives the same bits."""
    return numpy.random.default_rng(seed).integers(-8, 9, shape).astype(DTYPE)


X, ROWS, OTHER, TAPS = numbers(20011), numbers(130, 70), numbers(70, 90, seed=4), numbers(5, seed=5)
ONES, INDICES = numpy.ones(70, DTYPE), numpy.random.default_rng(6).integers(-3, 140, 300).astype("int32")
Q, K, V = numbers(9, 32), numbers(40, 32, seed=7), numbers(40, 32, seed=8)

# The function with its arguments: the keyword `variant` is added.
CALLS = {
    "cumulative_sum": lambda **more: tessera.cumulative_sum(X, **more),
    "sum": lambda **more: tessera.sum(X, **more),
    "sum of rows": lambda **more: tessera.sum(ROWS, axis=1, **more),
    "sum of columns": lambda **more: tessera.sum(ROWS, axis=0, **more),
    "vecdot": lambda **more: tessera.vecdot(X, X[::-1].copy(), **more),
    "matmul": lambda **more: tessera.matmul(ROWS, OTHER, **more),
    "matrix_transpose": lambda **more: tessera.matrix_transpose(ROWS, **more),
    "softmax of rows": lambda **more: tessera.softmax(ROWS, **more),
    "softmax of columns": lambda **more: tessera.softmax(ROWS, axis=0, **more),
    "layer_norm": lambda **more: tessera.layer_norm(ROWS, ONES, ONES, eps=0.1, **more),
    "histogram": lambda **more: tessera.histogram(X, 12, range=(-7, 5), **more),
    "sort": lambda **more: tessera.sort(X, **more),
    "sort descending": lambda **more: tessera.sort(X, descending=True, **more),
    "embedding": lambda **more: tessera.embedding(INDICES, ROWS, **more),
    "partition": lambda **more: tessera.partition(X, below=2, **more),
    "topk": lambda **more: tessera.topk(ROWS, 9, **more),
    "conv2d": lambda **more: tessera.conv2d(ROWS, OTHER[:3, :5].copy(), **more),
    "conv1d": lambda **more: tessera.conv1d(X, TAPS, **more),
    "attention": lambda **more: tessera.scaled_dot_product_attention(Q, K, V, **more),
}


def names_of(call):
    """The variants that the message about an unknown one offers; None if the build has no variants of this mini-app. A
    build of programs for a GPU alone offers none for the host: test_cuda.py."""
    try:
        call(variant="no_such_variant")
    except ValueError as error:
        if "this build of the module has no variants of" in str(error):
            return None
        if str(error).endswith("; leave it out") and "cuda" in tessera.devices:
            return []
        return re.fullmatch(
            r"variant is 'no_such_variant' \(no variant of \w+\); choose from: (.*)", str(error)
        ).group(1).split(", ")
    raise AssertionError("an unknown variant ran")


NAMES = {name: names_of(call) for name, call in CALLS.items()}
BUILT = {name: names for name, names in NAMES.items() if names}


@unittest.skipUnless(BUILT, "this build has no variants")
class Variants(unittest.TestCase):
    def test_all_compute_the_same(self):
        for name, variants in BUILT.items():
            expected = CALLS[name]()
            ran = 0
            for variant in variants:
                with self.subTest(function=name, variant=variant):
                    try:
                        result = CALLS[name](variant=variant)
                    except ValueError as error:  # a Skip, with its reason
                        self.assertRegex(str(error), rf"^variant is '{variant}' \(.+\); choose another$")
                        continue
                    ran += 1
                    parts = zip(result, expected) if isinstance(result, tuple) else [(result, expected)]
                    for one, other in parts:
                        self.assertEqual(numpy.shape(one), numpy.shape(other))
                        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
            self.assertGreater(ran, 1, name)

    def test_each_runs_itself(self):
        # They add in different orders: random numbers give several roundings.
        x = numpy.random.default_rng(9).random((40, 5000)).astype(DTYPE)
        calls = {
            "cumulative_sum": lambda **more: tessera.cumulative_sum(x.reshape(-1), **more),
            "sum of rows": lambda **more: tessera.sum(x, axis=1, **more),
            "vecdot": lambda **more: tessera.vecdot(x.reshape(-1), x.reshape(-1), **more),
            "softmax of rows": lambda **more: tessera.softmax(x, **more),
        }
        for name in calls.keys() & BUILT.keys():
            bits = set()
            for variant in BUILT[name]:
                try:
                    bits.add(calls[name](variant=variant).tobytes())
                except ValueError:
                    pass
            self.assertGreater(len(bits), 1, name)

    @unittest.skipUnless("vecdot" in BUILT, "no variants of dot")
    def test_arrays_change_between_calls(self):
        variant = BUILT["vecdot"][0]
        a, b, y = numbers(5000), numbers(5000, seed=1), numpy.empty((), DTYPE)
        for seed in range(4):
            a[:] = numbers(5000, seed=seed)
            self.assertIs(tessera.vecdot(a, b, out=y, variant=variant), y)
            self.assertEqual(y, numpy.dot(a, b))
        before = tessera.workspaces()["objects"]
        tessera.vecdot(a, b, out=y, variant=variant)
        self.assertEqual(tessera.workspaces()["objects"], before)  # the same arrays: the variant was not made again
        others = [numbers(5000, seed=seed) for seed in range(5, 9)]
        for other in others:
            self.assertEqual(tessera.vecdot(other, b, variant=variant), numpy.dot(other, b))
        for n in (0, 1, 7, 4999):
            x = numbers(n)
            self.assertEqual(tessera.vecdot(x, x, variant=variant), numpy.dot(x, x))

    @unittest.skipUnless("layer_norm" in BUILT, "no variants of layernorm")
    def test_parameters_change_between_calls(self):
        y = numpy.empty_like(ROWS)
        for eps in (0.1, 100):
            tessera.layer_norm(ROWS, ONES, ONES, eps=eps, out=y, variant=BUILT["layer_norm"][0])
            numpy.testing.assert_allclose(
                y, tessera.layer_norm(ROWS, ONES, ONES, eps=eps), rtol=1e-4, atol=1e-5
            )

    def test_refusals(self):
        name = next(iter(BUILT))
        with self.assertRaisesRegex(ValueError, r"variant is 'distributed' \(it runs on ranks.*\); choose from: \w+, "):
            CALLS[name](variant="distributed")
        with self.assertRaises(TypeError):
            CALLS[name](variant=7)


class NoVariants(unittest.TestCase):
    def test_not_in_place(self):
        x = ROWS.copy()
        with self.assertRaisesRegex(ValueError, "out is x .*memory of its own"):
            tessera.layer_norm(x, ONES, ONES, out=x, variant="any")
        numpy.testing.assert_array_equal(x, ROWS)

    def test_functions_without_a_mini_app(self):
        with self.assertRaises(TypeError):
            tessera.argsort(X, variant="radix")

    @unittest.skipUnless(None in NAMES.values(), "this build has all variants")
    def test_message(self):
        missing = next(name for name in CALLS if NAMES[name] is None)
        message = (
            r"variant is 'x' \(this build of the module has no variants of (\w+)\); leave it out, or build with \1 in "
            "TESSERA_PYTHON_VARIANTS"
        )
        with self.assertRaisesRegex(ValueError, message):
            CALLS[missing](variant="x")


if __name__ == "__main__":
    unittest.main()
