"""tessera.torch against PyTorch: values, gradients, what torch.library asks of operations, torch.compile, modules."""

import os
import sys
import unittest

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(str(error)) from None

import tessera
import tessera.torch as ours

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "common", "python", "examples")
sys.path.insert(0, EXAMPLES)

functional = torch.nn.functional
torch.backends.cudnn.allow_tf32 = False  # conv1d in float
DTYPES = [dtype for dtype in (torch.float32, torch.float64) if str(dtype)[6:] in tessera.dtypes]
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and "cuda" in tessera.devices else [])
WITH_DOUBLE = torch.float64 in DTYPES


def numbers(*shape, dtype=DTYPES[-1], device="cpu", seed=1):
    generator = torch.Generator().manual_seed(seed + len(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype=dtype, device=device)


def tensors(*shapes, dtype=DTYPES[-1], device="cpu", grad=True):
    return [
        numbers(*shape, dtype=dtype, device=device, seed=7 * i).requires_grad_(grad) for i, shape in enumerate(shapes)
    ]


def indices(*shape, rows):
    return torch.randint(rows, shape, generator=torch.Generator().manual_seed(3))


INDICES = indices(2, 5, rows=4)


# name: (our function, PyTorch's, shapes of the tensors). Shapes are small, because gradcheck changes each element.
CASES = {
    "softmax, last": (lambda x: ours.softmax(x, -1), lambda x: torch.softmax(x, -1), [(3, 2, 5)]),
    "softmax, first": (lambda x: ours.softmax(x, 0), lambda x: torch.softmax(x, 0), [(4, 2, 3)]),
    "softmax, middle": (lambda x: ours.softmax(x, 1), lambda x: torch.softmax(x, 1), [(2, 4, 3)]),
    "softmax, scalar": (lambda x: ours.softmax(x, 0), lambda x: torch.softmax(x, 0), [()]),
    "cumsum, last": (lambda x: ours.cumsum(x, -1), lambda x: torch.cumsum(x, -1), [(3, 5)]),
    "cumsum, first": (lambda x: ours.cumsum(x, 0), lambda x: torch.cumsum(x, 0), [(4, 2, 3)]),
    "cumsum, scalar": (lambda x: ours.cumsum(x, 0), lambda x: torch.cumsum(x, 0), [()]),
    "layer_norm": (
        lambda x, w, b: ours.layer_norm(x, (6,), w, b, 0.1),
        lambda x, w, b: functional.layer_norm(x, (6,), w, b, 0.1),
        [(2, 3, 6), (6,), (6,)],
    ),
    "layer_norm, two dimensions": (
        lambda x: ours.layer_norm(x, [3, 6]),
        lambda x: functional.layer_norm(x, [3, 6]),
        [(2, 3, 6)],
    ),
    "layernorm_linear": (
        lambda x, g, b, w, c: ours.layernorm_linear(x, g, b, w, c, 0.1),
        lambda x, g, b, w, c: functional.linear(functional.layer_norm(x, (6,), g, b, 0.1), w, c),
        [(2, 3, 6), (6,), (6,), (4, 6), (4,)],
    ),
    "layernorm_linear, no bias": (
        lambda x, g, b, w: ours.layernorm_linear(x, g, b, w),
        lambda x, g, b, w: functional.linear(functional.layer_norm(x, (6,), g, b), w),
        [(3, 6), (6,), (6,), (4, 6)],
    ),
    "attention": (
        ours.scaled_dot_product_attention,
        functional.scaled_dot_product_attention,
        [(2, 3, 5, 4)] * 3,
    ),
    "attention, causal": (
        lambda q, k, v: ours.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        [(5, 4)] * 3,
    ),
    "attention, causal, fewer keys": (
        lambda q, k, v: ours.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 5, 4), (2, 3, 4), (2, 3, 4)],
    ),
    "attention, causal, more keys": (
        lambda q, k, v: ours.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        [(2, 3, 4), (2, 5, 4), (2, 5, 4)],
    ),
    "attention, other keys": (
        lambda q, k, v: ours.scaled_dot_product_attention(q, k, v, scale=0.3),
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, scale=0.3),
        [(2, 3, 4), (2, 5, 4), (2, 5, 4)],
    ),
    "conv1d": (
        lambda x, w, b: ours.conv1d(x, w, b, padding=2),
        lambda x, w, b: functional.conv1d(x, w, b, padding=2),
        [(2, 3, 7), (2, 3, 3), (2,)],
    ),
    "conv1d, one": (ours.conv1d, functional.conv1d, [(1, 9), (1, 1, 4)]),
    "embedding": (
        lambda w: ours.embedding(INDICES.to(w.device), w),
        lambda w: functional.embedding(INDICES.to(w.device), w),
        [(4, 3)],
    ),
}

# operation: its arguments, for opcheck. Shapes are tensors that require gradients.
OPERATIONS = {
    "softmax": [(3, 5), 1],
    "cumsum": [(3, 5), 0],
    "layer_norm": [(3, 6), (6,), (6,), 1e-5],
    "layernorm_linear": [(2, 3, 6), (6,), (6,), (4, 6), (4,), 1e-5],
    "scaled_dot_product_attention": [(2, 5, 4), (2, 5, 4), (2, 5, 4), True, None],
    "conv1d": [(2, 3, 7), (2, 3, 3), 1],
    "embedding": [INDICES, (4, 3), 1],
}


class Values(unittest.TestCase):
    def close(self, found, expected):
        self.assertEqual(found.shape, expected.shape)
        tolerance = 1e-5 if expected.dtype == torch.float32 else 1e-13
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)

    def compare(self, case, *arguments):
        function, expected, _ = CASES[case]
        copies = [tensor.detach().clone().requires_grad_() for tensor in arguments]
        y, z = function(*arguments), expected(*copies)
        self.close(y, z)
        weights = numbers(*y.shape, dtype=y.dtype, device=y.device, seed=5)
        (y * weights).sum().backward()
        (z * weights).sum().backward()
        for tensor, copy in zip(arguments, copies, strict=True):
            self.close(tensor.grad, copy.grad)

    def test_cases(self):
        for device in DEVICES:
            for dtype in DTYPES:
                for name, (_, _, shapes) in CASES.items():
                    with self.subTest(name, dtype=dtype, device=device):
                        self.compare(name, *tensors(*shapes, dtype=dtype, device=device))

    def test_larger(self):
        for device in DEVICES:
            self.compare_larger(device)

    def compare_larger(self, device):
        for case, shapes in (
            ("softmax, middle", [(7, 300, 9)]),
            ("layer_norm", [(401, 6), (6,), (6,)]),
            ("layernorm_linear", [(333, 6), (6,), (6,), (70, 6), (70,)]),
            ("attention", [(3, 2, 130, 72)] * 3),
            ("attention, other keys", [(2, 33, 20), (2, 70, 20), (2, 70, 20)]),
            ("conv1d", [(3, 4, 500), (5, 4, 40), (5,)]),
        ):
            with self.subTest(case, device=device):
                inputs = tensors(*shapes, device=device)
                self.compare(case, *(tensor.div(8).detach().requires_grad_() for tensor in inputs))
        # Whole numbers: every order of additions gives the same bits.
        x = numbers(40, 3000, device=device).mul(10).round()
        for dim in (0, 1):
            self.assertTrue(torch.equal(ours.cumsum(x, dim), torch.cumsum(x, dim)))

    def test_strides(self):
        # The gradient of a sum has strides of zero.
        x = numbers(5, 4, 3).transpose(0, 2).requires_grad_()
        for function in (lambda x: ours.softmax(x, 1), lambda x: ours.cumsum(x, 2), lambda x: ours.layer_norm(x, 5)):
            (gradient,) = torch.autograd.grad(function(x).sum(), x)
            (expected,) = torch.autograd.grad(function(x.contiguous()).sum(), x)
            self.close(gradient, expected)
        heads = [tensor.view(2, 6, 3, 4).transpose(1, 2) for tensor in tensors((2, 6, 12), (2, 6, 12), (2, 6, 12))]
        self.close(
            ours.scaled_dot_product_attention(*heads), functional.scaled_dot_product_attention(*heads)
        )  # fmt: skip

    def test_nothing(self):
        for name, shapes in (
            ("softmax, last", [(3, 0, 5)]),
            ("cumsum, first", [(0, 5)]),
            ("layer_norm", [(0, 6), (6,), (6,)]),
            ("layernorm_linear", [(0, 6), (6,), (6,), (4, 6), (4,)]),
            ("attention", [(0, 5, 4)] * 3),
            ("conv1d", [(0, 3, 7), (2, 3, 3), (2,)]),
        ):
            with self.subTest(name):
                self.compare(name, *tensors(*shapes))

    def test_no_columns(self):
        for device in DEVICES:
            x, g, b, w, c = tensors((2, 3, 0), (0,), (0,), (4, 0), (4,), device=device)
            y = ours.layernorm_linear(x, g, b, w, c)
            self.assertTrue(torch.equal(y, functional.linear(x, w, c)))
            y.sum().backward()
            self.assertTrue(torch.equal(c.grad, torch.full_like(c, 6)))
            self.assertEqual([tensor.grad.numel() for tensor in (x, g, b, w)], [0, 0, 0, 0])

    def test_padding_of_embedding(self):
        self.assertIn(1, INDICES)
        for padding_idx in (1, -3):  # the same row
            gradients = []
            for function in (ours.embedding, functional.embedding):
                (weight,) = tensors((4, 3))
                function(INDICES, weight, padding_idx=padding_idx).square().sum().backward()
                gradients.append(weight.grad)
            self.close(*gradients)

    def test_integers_of_embedding(self):
        weight = numbers(9, 4)
        for dtype in (torch.int32, torch.int64):
            rows = indices(3, 5, rows=9).to(dtype)
            self.assertTrue(torch.equal(ours.embedding(rows, weight), functional.embedding(rows, weight)))


class Gradients(unittest.TestCase):
    @unittest.skipUnless(WITH_DOUBLE, "this build has no float64")
    def test_gradcheck(self):
        for device in DEVICES:
            for name, (function, _, shapes) in CASES.items():
                with self.subTest(name, device=device):
                    # A GPU adds in any order: PyTorch's own gradient of embedding does.
                    tolerance = 0.0 if device == "cpu" else 1e-12
                    torch.autograd.gradcheck(function, tensors(*shapes, device=device), nondet_tol=tolerance)

    @unittest.skipUnless(WITH_DOUBLE, "this build has no float64")
    def test_second_derivatives(self):
        for name in ("softmax, last", "cumsum, last", "conv1d", "attention, other keys"):
            function, _, shapes = CASES[name]
            with self.subTest(name):
                torch.autograd.gradgradcheck(function, tensors(*shapes))
        # Tessera's backward kernels have no derivative, and say so.
        x, w, b = tensors((3, 6), (6,), (6,))
        (gradient,) = torch.autograd.grad(ours.layer_norm(x, 6, w, b).square().sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "layer_norm_backward"):
            gradient.sum().backward()


class Library(unittest.TestCase):
    def test_opcheck(self):
        for device in DEVICES:
            for name, arguments in OPERATIONS.items():
                with self.subTest(name, device=device):
                    torch.library.opcheck(getattr(torch.ops.tessera, name).default, self.made(arguments, device))

    def test_opcheck_of_gradients(self):
        for name, arguments in (
            ("layer_norm_backward", [(3, 6), (6,), (3, 6), 1e-5]),
            ("layernorm_linear_backward", [(2, 3, 6), (6,), (6,), (4, 6), (2, 3, 4), 1e-5]),
            ("attention_backward", [(2, 5, 4)] * 5 + [True, None]),
        ):
            for device in DEVICES:
                with self.subTest(name, device=device):
                    operation = getattr(torch.ops.tessera, name).default
                    torch.library.opcheck(operation, self.made(arguments, device, grad=False))

    def made(self, arguments, device, grad=True):
        return tuple(
            tensors(one, device=device, grad=grad)[0]
            if isinstance(one, tuple)
            else (one.to(device) if isinstance(one, torch.Tensor) else one)
            for one in arguments
        )


class Compile(unittest.TestCase):
    def test_aot_eager(self):
        self.compiled("aot_eager", DEVICES, CASES)

    def test_inductor(self):
        headers = os.path.join(os.path.dirname(torch.__file__), "include", "torch", "csrc", "inductor")
        if not os.path.exists(os.path.join(headers, "cpp_prefix.h")):
            self.skipTest("Debian's PyTorch has no headers for its default backend")
        # For a CPU the compiler takes some seconds for each; the operations are calls in its code in any case.
        self.compiled("inductor", ["cpu"], ["softmax, last", "layer_norm"])
        self.compiled("inductor", DEVICES[1:], CASES)

    def compiled(self, backend, devices, names):
        for device in devices:
            for name in names:
                function, _, shapes = CASES[name]
                with self.subTest(name, device=device):
                    torch.compiler.reset()
                    results = []
                    for one in (function, torch.compile(function, fullgraph=True, backend=backend)):
                        arguments = tensors(*shapes, device=device)
                        y = one(*arguments)
                        y.square().sum().backward()
                        results.append([y, *(tensor.grad for tensor in arguments)])
                    for found, expected in zip(*results, strict=True):
                        torch.testing.assert_close(found, expected)


class Refusals(unittest.TestCase):
    def test_dtypes(self):
        for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.complex64):
            name = str(dtype)[6:]
            message = rf"input is {name} on cpu \(tessera::softmax takes .*float.* on cpu.*\); convert it first"
            with self.assertRaisesRegex(TypeError, message):
                ours.softmax(torch.zeros(3, dtype=dtype), 0)
        with self.assertRaisesRegex(TypeError, r"weight is float16 on cpu \(tessera::embedding takes"):
            ours.embedding(torch.zeros(3, dtype=torch.int64), torch.zeros(3, 3, dtype=torch.float16))
        with self.assertRaisesRegex(TypeError, r"input is int16 on cpu \(weight is on cpu, and indices are int32"):
            ours.embedding(torch.zeros(3, dtype=torch.int16), numbers(3, 3))

    def test_two_dtypes(self):
        x, w = torch.zeros(2, 3, dtype=DTYPES[0]), torch.zeros(3, dtype=DTYPES[-1])
        if len(DTYPES) == 2:
            message = r"weight is float64 on cpu \(input is float32 on cpu\); convert one"
            with self.assertRaisesRegex(TypeError, message):
                ours.layer_norm(x, 3, w, w)

    def test_devices(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        # A device without Tessera's kernels; the fake kernel has the checks of the real one.
        with FakeTensorMode():
            x = torch.empty(3, device="ipu")
            for function in (lambda x: ours.softmax(x, 0), lambda x: ours.cumsum(x, 0)):
                with self.assertRaisesRegex(ValueError, r"input is float32 on ipu.* \(tessera::\w+ takes .* on cpu"):
                    function(x)
            with self.assertRaisesRegex(ValueError, r"weight is float32 on ipu"):
                ours.embedding(torch.empty(3, dtype=torch.int64, device="ipu"), torch.empty(3, 3, device="ipu"))

    def test_shapes(self):
        x = numbers(2, 5, 4)
        attend, layer = ours.scaled_dot_product_attention, ours.layernorm_linear
        for message, call in (
            ("ln_weight has shape .5., not .4.", lambda: layer(x, numbers(5), numbers(4), numbers(3, 4))),
            ("weight has shape .5., not .4.", lambda: ours.layer_norm(x, 4, numbers(5), numbers(4))),
            ("it does not end in .5.", lambda: ours.layer_norm(x, 5)),
            ("weight has shape .3, 5., not .3, 4.", lambda: layer(x, numbers(4), numbers(4), numbers(3, 5))),
            ("value has shape .2, 5, 3., not .2, 5, 4.", lambda: attend(x, x, numbers(2, 5, 3))),
            ("key has shape .1, 5, 4., not", lambda: attend(x, x[:1], x[:1])),
            ("256", lambda: attend(*[numbers(3, 300)] * 3)),
            ("attn_mask is given .is_causal=True is the only mask", lambda: attend(x, x, x, x[0] > 0)),
            ("dropout_p is 0.5 .* leave it out", lambda: attend(x, x, x, None, 0.5)),
            ("enable_gqa is True .* repeat their heads", lambda: attend(x, x, x, enable_gqa=True)),
            ("weight has shape .2, 4, 3., not .2, 5, 3.", lambda: ours.conv1d(x, numbers(2, 4, 3))),
            ("weight has 7 taps", lambda: ours.conv1d(x, numbers(2, 5, 7))),
            ("bias has shape .1., not .2.", lambda: ours.conv1d(x, numbers(2, 5, 3), numbers(1))),
            ("padding_idx is 4 .weight has 4 rows", lambda: ours.embedding(INDICES, numbers(4, 3), padding_idx=4)),
        ):  # fmt: skip
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                call()
        with self.assertRaisesRegex(IndexError, "dim is 3 .the tensor has 3 dimensions"):
            ours.softmax(x, 3)

    def test_indices(self):
        weight = numbers(4, 3)
        for wrong in (-1, 4, 1 << 32):
            with self.assertRaisesRegex(IndexError, rf"index {wrong} \(weight has 4 rows\)"):
                ours.embedding(torch.tensor([0, wrong, 1]), weight)

    def test_streams_on_the_host(self):
        # All functions read the keyword that a tensor on a GPU adds.
        matrix, row, three = torch.zeros(4, 4), torch.zeros(4), torch.zeros(1, 4, 4)
        for name, arguments in (
            ("_cumulative_sum_rows", [matrix] * 2),
            ("_layer_norm_backward", [matrix, row, matrix, 0.1, matrix, row, row]),
            ("_layernorm_linear", [matrix, row, row, matrix, row, 0.1, matrix]),
            ("_layernorm_linear_backward", [matrix, row, row, matrix, matrix, 0.1, matrix, row, row, matrix, row]),
            ("_batched_attention", [three] * 3 + [False, 1.0, three]),
            ("_batched_attention_backward", [three] * 5 + [False, 1.0] + [three] * 3),
        ):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "stream is given .* on the host"):
                getattr(tessera._tessera, name)(*arguments, stream=5)


class Modules(unittest.TestCase):
    def test_state_dict(self):
        theirs = torch.nn.Sequential(torch.nn.LayerNorm(6), torch.nn.Linear(6, 4))
        mine = ours.LayerNormLinear(6, 4)
        self.assertEqual(list(mine.state_dict()), list(theirs.state_dict()))
        mine.load_state_dict(theirs.state_dict())
        x = numbers(3, 6, dtype=torch.float32)
        torch.testing.assert_close(mine(x), theirs(x))
        theirs.load_state_dict(mine.state_dict())

    def test_same_initial_values(self):
        torch.manual_seed(5)
        theirs = torch.nn.Sequential(torch.nn.LayerNorm(6), torch.nn.Linear(6, 4))
        torch.manual_seed(5)
        mine = ours.LayerNormLinear(6, 4)
        for (name, a), b in zip(theirs.named_parameters(), mine.parameters(), strict=True):
            self.assertTrue(torch.equal(a, b), name)

    def test_of(self):
        norm, linear = torch.nn.LayerNorm(6, eps=0.5), torch.nn.Linear(6, 4, bias=False)
        module = ours.LayerNormLinear.of(norm, linear)
        x = numbers(3, 6, dtype=torch.float32)
        torch.testing.assert_close(module(x), linear(norm(x)))
        self.assertIs(module[1].weight, linear.weight)
        for wrong in (torch.nn.LayerNorm(5), torch.nn.LayerNorm(6, elementwise_affine=False)):
            with self.assertRaisesRegex(ValueError, "the norm is LayerNorm"):
                ours.LayerNormLinear.of(wrong, linear)

    def test_softmax(self):
        x = numbers(3, 6, dtype=torch.float32)
        torch.testing.assert_close(ours.Softmax(dim=0)(x), torch.nn.Softmax(dim=0)(x))
        self.assertEqual(repr(ours.Softmax(dim=0)), repr(torch.nn.Softmax(dim=0)))

    def test_training(self):
        import train_pytorch

        # Few steps with narrow bounds: a mistake of 1 % in one term of a gradient shifts the curve by 1e-4 and more.
        for dtype, bound in ((torch.float32, 1e-6), (torch.float64, 1e-13)):
            if dtype not in DTYPES:
                continue
            theirs, mine = train_pytorch.both(6, dtype)
            self.assertLess(theirs[-1], 0.95 * theirs[0])
            self.assertLess(max(abs(a - b) / a for a, b in zip(theirs, mine, strict=True)), bound)


if __name__ == "__main__":
    unittest.main()
