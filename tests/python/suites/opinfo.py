#!/usr/bin/env python3
"""Runs PyTorch's OpInfo samples on Tessera's functions, compares with PyTorch in double, and writes a log.

    opinfo.py [--device cuda] [--log FILE]

The samples are those of torch.testing._internal.common_methods_invocations. Tessera's functions take one vector or
matrix, contiguous: a function here moves dimensions, copies, and calls Tessera once per vector, matrix or channel. A
sample that Tessera cannot compute is skipped, with a reason. Tolerances are those of torch.testing.assert_close, unless
TOLERANCES has others. The double reference runs on the CPU.

Exit code: 0 all passed, 1 one failed.
"""

import argparse
import importlib.util
import sys
import types
import unittest

import logs
import torch

import tessera

if importlib.util.find_spec("expecttest") is None:
    # The file with the samples imports this package for the base of its class of tests, which nothing here uses.
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402


class Skip(Exception):
    """Tessera has no function for a sample."""


def rows_of(x, dim):
    """x with one dimension last, contiguous, at least a vector."""
    return x.reshape(1).contiguous() if x.dim() == 0 else x.movedim(dim, -1).contiguous()


def back(y, x, dim):
    """The inverse of rows_of, for a result of the same shape."""
    return y.reshape(()) if x.dim() == 0 else y.movedim(-1, dim)


def each_row(function, x, dim, dtype=None):
    """function(row, out=row) for all rows along one dimension."""
    rows = rows_of(x, dim)
    out = torch.empty(rows.shape, dtype=dtype or x.dtype, device=x.device)
    count = rows.numel() // max(rows.shape[-1], 1)
    for row, to in zip(rows.reshape(count, rows.shape[-1]), out.reshape(count, rows.shape[-1])):
        function(row, out=to)
    return back(out, x, dim)


def converted(x, dtype):
    """x in the dtype that the caller asks for."""
    if dtype is None:
        return x
    if str(dtype)[6:] not in tessera.dtypes:
        raise Skip(f"no {str(dtype)[6:]} in this build")
    return x.to(dtype)


def softmax(x, dim, dtype=None):
    x = converted(x, dtype)
    if x.dim() == 2 and dim == 0 and x.is_contiguous():
        return tessera.softmax(x, axis=0)
    return back(tessera.softmax(rows_of(x, dim)), x, dim)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    cols = torch.Size(shape).numel()
    weight = torch.ones(cols, dtype=x.dtype, device=x.device) if weight is None else weight.reshape(cols).contiguous()
    bias = torch.zeros(cols, dtype=x.dtype, device=x.device) if bias is None else bias.reshape(cols).contiguous()
    rows = x.contiguous().reshape(x.numel() // max(cols, 1), cols)
    return tessera.layer_norm(rows, weight, bias, eps).reshape(x.shape)


def cumsum(x, dim, dtype=None):
    wide = converted(x, dtype)
    return each_row(lambda row, out: tessera.cumulative_sum(row, dtype=wide.dtype, out=out), wide, dim)


def sort(x, dim=-1, descending=False, stable=False):
    return each_row(lambda row, out: tessera.sort(row, descending=descending, out=out), x, dim), argsort(
        x, dim, descending
    )


def argsort(x, dim=-1, descending=False, stable=False):
    return each_row(lambda row, out: tessera.argsort(row, descending=descending, out=out), x, dim, torch.int64)


def topk(x, k, dim=-1, largest=True, sorted=True):
    if not largest:
        raise Skip("topk finds the largest")
    if x.dim() == 0:
        raise Skip("topk takes rows")
    if len(torch.unique(x)) < x.numel():
        raise Skip("PyTorch takes any of equal elements")
    values, indices = tessera.topk(x.movedim(dim, -1).contiguous(), k)
    return values.movedim(-1, dim), indices.movedim(-1, dim)


def linear(x, weight, bias=None):
    if weight.dim() == 1:
        raise Skip("weight is a vector")
    return tessera.linear(x.contiguous(), weight.contiguous(), None if bias is None else bias.contiguous())


def embedding(weight, indices, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    # The other arguments decide about gradients.
    if max_norm is not None:
        raise Skip("max_norm changes the weights")
    found = tessera.embedding(indices.reshape(-1).to(torch.int32), weight.contiguous())
    return found.reshape(*indices.shape, weight.shape[1])


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if attn_mask is not None:
        raise Skip("no attn_mask in scaled_dot_product_attention")
    if dropout_p:
        raise Skip("no dropout in scaled_dot_product_attention")
    if value.shape[-1] != key.shape[-1]:
        raise Skip("value and key have other numbers of columns")
    if enable_gqa and query.dim() > 2:
        key, value = (one.repeat_interleave(query.shape[-3] // one.shape[-3], -3) for one in (key, value))
    heads = torch.broadcast_shapes(*(one.shape[:-2] for one in (query, key, value)))
    q, k, v = (one.expand(*heads, *one.shape[-2:]).reshape(-1, *one.shape[-2:]) for one in (query, key, value))
    more = {"is_causal": is_causal, "scale": scale}
    out = [tessera.scaled_dot_product_attention(a, b, c, **more) for a, b, c in zip(q, k, v)]
    return torch.stack(out).reshape(*heads, *query.shape[-2:])


def correlated(x, weight):
    """All places of one channel at which the weights lie inside: Tessera's conv1d, conv2d, or conv2d of planes."""
    x, weight = x.contiguous(), weight.contiguous()
    if x.dim() == 1:
        return tessera.conv1d(x, weight)[: len(x) - len(weight) + 1]
    rows = x.shape[0] - weight.shape[0] + 1
    if x.dim() == 2:
        return tessera.conv2d(x, weight)[:rows, : x.shape[1] - weight.shape[1] + 1]
    return torch.stack(
        [sum(correlated(x[row + i], weight[i]) for i in range(weight.shape[0])) for row in range(rows)]
    )


def spread(weight, dilation):
    """The weights with zeros between them."""
    shape = [(n - 1) * step + 1 for n, step in zip(weight.shape[2:], dilation)]
    out = weight.new_zeros(*weight.shape[:2], *shape)
    out[(..., *(slice(None, None, step) for step in dilation))] = weight
    return out


def convolution(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    dims = weight.dim() - 2

    def each(value):
        return tuple(value) * (dims // len(value)) if isinstance(value, (tuple, list)) else (value,) * dims

    weight = spread(weight, each(dilation))
    around = []
    for dim in reversed(range(dims)):
        taps = weight.shape[2 + dim]
        if padding == "same":
            around += [(taps - 1) // 2, taps - 1 - (taps - 1) // 2]
        else:
            around += [0 if padding == "valid" else each(padding)[dim]] * 2
    padded = torch.nn.functional.pad(x.unsqueeze(0) if x.dim() == dims + 1 else x, around)
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    images = []
    for image in padded:
        channels = []
        for o in range(weight.shape[0]):
            first = o // outputs * inputs
            total = sum(correlated(image[first + i], weight[o, i]) for i in range(inputs))
            channels.append(total if bias is None else total + bias[o])
        images.append(torch.stack(channels))
    out = torch.stack(images)[(..., *(slice(None, None, step) for step in each(stride)))]
    return out if x.dim() == dims + 2 else out.squeeze(0)


FUNCTIONS = {
    "argsort": argsort,
    "cumsum": cumsum,
    "nn.functional.conv1d": convolution,
    "nn.functional.conv2d": convolution,
    "nn.functional.embedding": embedding,
    "nn.functional.layer_norm": layer_norm,
    "nn.functional.linear": linear,
    "nn.functional.scaled_dot_product_attention": attention,
    "softmax": softmax,
    "sort": sort,
    "topk": topk,
}

# Scores of the samples are as large as 9 * 9 * 8 / sqrt(8) = 229: a last bit there is 1.5e-5 of a weight.
TOLERANCES = {("nn.functional.scaled_dot_product_attention", torch.float32): {"rtol": 5e-5, "atol": 5e-5}}


def widened(value):
    """A sample's argument on the CPU, with all floating-point numbers in double."""
    if isinstance(value, torch.Tensor):
        value = value.cpu()
        return value.double() if value.is_floating_point() else value.clone()
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if isinstance(value, (tuple, list)):
        return type(value)(map(widened, value))
    return value


def described(sample):
    def text(value):
        if isinstance(value, torch.Tensor):
            return str(list(value.shape)) + ("" if value.is_contiguous() else " with strides")
        return str(value)

    named = [f"{name}={text(value)}" for name, value in sample.kwargs.items()]
    return ", ".join([text(sample.input), *map(text, sample.args), *named])


def outcome(op, sample):
    x, args, kwargs = sample.input, sample.args, sample.kwargs
    before = x.clone()
    try:
        found = FUNCTIONS[op.name](x, *args, **kwargs)
    except Skip as skip:
        return {"outcome": "skipped", "reason": str(skip)}
    except Exception as error:
        return {"outcome": "failed", "reason": f"{type(error).__name__}: {error}"}
    expected = op.op(widened(x), *widened(args), **{name: widened(value) for name, value in kwargs.items()})
    try:
        torch.testing.assert_close(x, before, rtol=0, atol=0, equal_nan=True)
        for one, right in zip(*([each] if isinstance(each, torch.Tensor) else each for each in (found, expected))):
            tolerances = TOLERANCES.get((op.name, one.dtype), {})
            torch.testing.assert_close(one.cpu(), right.to(one.dtype), equal_nan=True, **tolerances)
    except AssertionError as error:
        return {"outcome": "failed", "reason": " ".join(str(error).split())}
    return {"outcome": "passed"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", default="opinfo.json")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    options = parser.parse_args()
    if options.device == "cuda" and ("cuda" not in tessera.devices or not torch.cuda.is_available()):
        gpus = torch.cuda.device_count()
        raise SystemExit(f"--device is cuda (Tessera has {', '.join(tessera.devices)}, and PyTorch finds {gpus} GPUs); "
                         "build Tessera for this GPU, or leave the option out")  # fmt: skip
    tests, found = [], set()
    for op in op_db:
        if op.name not in FUNCTIONS:
            continue
        found.add(op.name)
        for dtype in (torch.float32, torch.float64, torch.int32):
            if dtype not in op.supported_dtypes(options.device) or str(dtype)[6:] not in tessera.dtypes:
                continue
            torch.manual_seed(1)
            for number, sample in enumerate(op.reference_inputs(options.device, dtype, requires_grad=False)):
                name = f"{op.formatted_name} {str(dtype)[6:]} {number}: {described(sample)}"
                tests.append({"name": name, **outcome(op, sample)})
    if found != set(FUNCTIONS):
        raise SystemExit(f"no OpInfo in this PyTorch for {', '.join(sorted(set(FUNCTIONS) - found))}")
    versions = logs.versions(torch=torch.__version__)
    if options.device == "cuda":
        versions["gpu"] = torch.cuda.get_device_name()
    return logs.write(options.log, "PyTorch's OpInfo samples", tests, versions=versions)


if __name__ == "__main__":
    sys.exit(main())
