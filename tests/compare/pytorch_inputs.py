#!/usr/bin/env python3
"""Compares the expected results in the inputs of transformer_block and transformer_block_backward with PyTorch's.

    tests/compare/pytorch_inputs.py [FILE...]     all files of both mini-apps if none is named
    cmake/debian/root exec torch "$PWD" tests/compare/pytorch_inputs.py    # in the private Debian root

PyTorch computes in double, on the processor, and its automatic differentiation makes the gradients. The expected
results come from NumPy by the formulas and are rounded to the file's dtype. They may differ by 1e-6 of a field's
largest element (1e-12 in double).

Exit code: 0 all agree, 1 one differs (a line each), 2 a mistake.
"""

import pathlib
import sys

try:
    import h5py
    import torch
except ImportError as error:
    print(f"pytorch_inputs.py: {error}; on Debian as root: "
          'cmake/debian/root exec torch "$PWD" tests/compare/pytorch_inputs.py', file=sys.stderr)
    sys.exit(2)

INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"
APPS = ("transformer_block", "transformer_block_backward")
functional = torch.nn.functional


def block(f, heads, causal, eps):
    batch, tokens, d = f["x"].shape
    ln = functional.layer_norm(f["x"], (d,), f["gamma1"], f["beta1"], eps)
    q, k, v = (
        functional.linear(ln, f["w" + name], f["b" + name]).view(batch, tokens, heads, d // heads).transpose(1, 2)
        for name in "qkv"
    )
    scores = q @ k.transpose(2, 3) / (d // heads) ** 0.5
    if causal:
        scores = scores.masked_fill(~torch.ones(tokens, tokens, dtype=torch.bool).tril(), float("-inf"))
    mean = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, tokens, d)
    a = f["x"] + functional.linear(mean, f["wo"], f["bo"])
    ln = functional.layer_norm(a, (d,), f["gamma2"], f["beta2"], eps)
    hidden = functional.gelu(functional.linear(ln, f["w1"], f["b1"]))
    return a + functional.linear(hidden, f["w2"], f["b2"])


def results(fields, parameters):
    """The fields that the mini-app writes: y, or the gradients if there is a grad_y."""
    leaves = {name: values.requires_grad_() for name, values in fields.items() if name != "grad_y"}
    y = block(leaves, int(parameters["heads"]), bool(parameters["causal"]), float(parameters["eps"]))
    if "grad_y" not in fields:
        return {"y": y.detach()}
    gradients = torch.autograd.grad(y, list(leaves.values()), fields["grad_y"])
    return {"d" + name: gradient for name, gradient in zip(leaves, gradients)}


def complaints(path):
    with h5py.File(path) as file:
        fields = {name: torch.from_numpy(data[()]).double() for name, data in file["input"].items()}
        found = results(fields, file["input"].attrs)
        for name, data in file["expected"].items():
            expected = torch.from_numpy(data[()]).double()
            if expected.numel() == 0 and found[name].shape == expected.shape:
                continue
            largest = float(expected.abs().max())
            allowed = (1e-12 if data.dtype.itemsize == 8 else 1e-6) * max(largest, 1)
            error = float((found[name] - expected).abs().max())
            if found[name].shape != expected.shape or not error <= allowed:
                yield f"{path.name}: {name} differs by {error:.3g} (largest element {largest:.3g})"


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    if not files:
        files = [path for app in APPS for path in sorted((INPUTS / app).glob("*.h5"))]
    lines = [line for path in files for line in complaints(path)]
    for line in lines:
        print(line)
    print(f"{len(files)} files compared with PyTorch {torch.__version__}; {len(lines)} differ")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
