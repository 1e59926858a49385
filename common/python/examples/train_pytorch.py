#!/usr/bin/env python3
"""Trains a small attention classifier twice from the same weights, with PyTorch's modules and with Tessera's, and
prints both loss curves.

    ./run python common/python/examples/train_pytorch.py      (in a root with PyTorch: TESSERA_DEPS=debian-torch)

Sequences of numbers are classified by where their largest number is.
"""

import torch

import tessera.torch

TOKENS, WIDTH = 12, 32


class Classifier(torch.nn.Module):
    """Attention with residual, then layer normalisation, product and softmax over the tokens' scores."""

    def __init__(self, dtype):
        super().__init__()
        self.embed = torch.nn.Linear(1, WIDTH, dtype=dtype)
        self.project = torch.nn.Sequential(
            torch.nn.LayerNorm(WIDTH, dtype=dtype), torch.nn.Linear(WIDTH, 3 * WIDTH, dtype=dtype)
        )
        self.score = torch.nn.Sequential(torch.nn.LayerNorm(WIDTH, dtype=dtype), torch.nn.Linear(WIDTH, 1, dtype=dtype))
        self.softmax = torch.nn.Softmax(dim=-1)
        self.attend = torch.nn.functional.scaled_dot_product_attention

    def forward(self, x):
        tokens = self.embed(x.unsqueeze(-1))
        query, key, value = self.project(tokens).chunk(3, dim=-1)
        tokens = tokens + self.attend(query, key, value)
        return self.softmax(self.score(tokens).squeeze(-1))


def with_tessera(model):
    """Replaces the modules, and keeps the parameters."""
    model.project = tessera.torch.LayerNormLinear.of(*model.project)
    model.score = tessera.torch.LayerNormLinear.of(*model.score)
    model.softmax = tessera.torch.Softmax(dim=-1)
    model.attend = tessera.torch.scaled_dot_product_attention
    return model


def losses(model, steps, dtype, device):
    """Trains the model, and returns the loss of each step."""
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    curve = []
    for _ in range(steps):
        x = torch.rand(64, TOKENS, generator=generator, dtype=torch.float64).to(dtype=dtype, device=device)
        chosen = model(x).gather(1, x.argmax(1, keepdim=True))
        loss = -torch.log(chosen).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        curve.append(loss.item())
    return curve


def both(steps, dtype, device="cpu"):
    """Returns the loss curves of PyTorch and of Tessera."""
    curves = []
    for change in (lambda model: model, with_tessera):
        torch.manual_seed(0)
        curves.append(losses(change(Classifier(dtype)).to(device), steps, dtype, device))
    return curves


if __name__ == "__main__":
    steps = 200
    for step, (ours, theirs) in enumerate(zip(*reversed(both(steps, torch.float32)), strict=True)):
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step:3}  PyTorch {theirs:.6f}  Tessera {ours:.6f}")
