#!/usr/bin/env python3
"""Trains the model of docs/walkthroughs/character_model with PyTorch, and compares the losses.

    character_model --save FOLDER ... FILE...
    tests/compare/pytorch_character_model.py FOLDER [--within X] [--out FILE]
    cmake/debian/root exec torch "$PWD" tests/compare/pytorch_character_model.py FOLDER    # in the private Debian root

FOLDER has the program's initial weights, batches and losses. PyTorch starts with the same weights, reads the same
batches, computes in their dtype on the processor, and takes its own automatic differentiation and its own Adam. --out
writes its losses, which the program compares with --expect.

Exit code: 0 no loss differs by more than X (1e-4), 1 one does, 2 a mistake.
"""

import argparse
import pathlib
import sys

try:
    import numpy
    import torch
except ImportError as error:
    print(f"pytorch_character_model.py: {error}; on Debian as root: "
          'cmake/debian/root exec torch "$PWD" tests/compare/pytorch_character_model.py FOLDER', file=sys.stderr)
    sys.exit(2)

from pytorch_inputs import block

functional = torch.nn.functional


def read(folder):
    """Returns the heading of the program's curve, its numbers by their names, the losses and the arrays."""
    heading, *losses = (folder / "losses.txt").read_text(encoding="utf-8").splitlines()
    options = dict(word.split("=") for word in heading.split()[1:])
    arrays = {path.stem: torch.from_numpy(numpy.load(path)) for path in sorted(folder.glob("*.npy"))}
    return heading, options, [float(loss) for loss in losses], arrays


def logits_of(tokens, p, layers, heads):
    x = p["embedding"][tokens] + p["positions"]
    for layer in range(layers):
        name = f"block{layer}_"
        fields = {key.removeprefix(name): value for key, value in p.items() if key.startswith(name)}
        x = block({"x": x, **fields}, heads, True, 1e-5)
    ln = functional.layer_norm(x, x.shape[-1:], p["gamma"], p["beta"], 1e-5)
    return functional.linear(ln, p["w"], p["bias"])


def train(options, arrays):
    batches = arrays["batches"].long()
    parameters = {name: array.clone().requires_grad_() for name, array in arrays.items() if name != "batches"}
    adam = torch.optim.Adam(parameters.values(), lr=float(options["rate"]))
    for batch in batches:
        logits = logits_of(batch[:, :-1], parameters, int(options["layers"]), int(options["heads"]))
        loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield loss.item()


def main():
    parser = argparse.ArgumentParser(description="Trains the character model with PyTorch, and compares the losses.")
    parser.add_argument("folder", type=pathlib.Path, help="what character_model --save wrote")
    parser.add_argument("--within", type=float, default=1e-4, help="largest difference (1e-4)")
    parser.add_argument("--out", type=pathlib.Path, help="write PyTorch's losses")
    chosen = parser.parse_args()
    heading, options, expected, arrays = read(chosen.folder)
    losses = list(train(options, arrays))
    differences = [abs(a - b) for a, b in zip(losses, expected, strict=True)]
    for step in range(0, len(losses), max(1, len(losses) // 10)):
        print(f"{step:5} {losses[step]:.6f} {differences[step]:.1e}")
    if chosen.out:
        chosen.out.write_text("\n".join([heading, *map(repr, losses)]) + "\n", encoding="utf-8")
    wrong = sum(not difference <= chosen.within for difference in differences)
    print(f"{len(losses)} losses of PyTorch {torch.__version__}: the last is {losses[-1]:.6f}; the largest difference "
          f"is {max(differences):.2g}; {wrong} differ by more than {chosen.within:g}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
