"""Tessera's kernels on NumPy, PyTorch and other arrays, without copies; and its mini-apps.

Functions are named as in the array API standard, or as in NumPy and torch.nn.functional. They take contiguous arrays of
anything with DLPack or the buffer protocol, and return arrays of the same library. Nothing is copied or converted: what
a kernel cannot use raises TypeError or ValueError. A call returns when the result is there, unless it has a `stream`.
`dtypes` and `devices` name those of this build.
"""

import atexit

from ._program import Report, UserError, plot, roof, run, variants
from ._tessera import (
    _finish,
    _is_main_interpreter,
    argsort,
    clear_workspaces,
    conv1d,
    conv2d,
    cumulative_sum,
    devices,
    dtypes,
    embedding,
    histogram,
    layer_norm,
    limit_workspaces,
    linear,
    matmul,
    matrix_transpose,
    partition,
    scaled_dot_product_attention,
    softmax,
    sort,
    sum,
    take,
    topk,
    unique_counts,
    vecdot,
    workspaces,
)

__all__ = [
    "Report",
    "UserError",
    "argsort",
    "clear_workspaces",
    "conv1d",
    "conv2d",
    "cumulative_sum",
    "devices",
    "dtypes",
    "embedding",
    "histogram",
    "layer_norm",
    "limit_workspaces",
    "linear",
    "matmul",
    "matrix_transpose",
    "partition",
    "plot",
    "roof",
    "run",
    "scaled_dot_product_attention",
    "softmax",
    "sort",
    "sum",
    "take",
    "topk",
    "unique_counts",
    "variants",
    "vecdot",
    "workspaces",
]

if not _is_main_interpreter():  # its end would end Kokkos, and arrays of two interpreters would meet
    raise ImportError("this is a subinterpreter (Kokkos and kept arrays belong to the process); import tessera in the "
                      "main one")  # fmt: skip

# Kokkos must end before the libraries that it uses do.
atexit.register(_finish)
