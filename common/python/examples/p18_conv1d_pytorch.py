#!/usr/bin/env python3
"""P18, 1D convolution as an operation of PyTorch: eager, compiled, and with the gradient of its taps."""

import torch

import tessera.torch

x = torch.arange(15, dtype=torch.float32).reshape(1, 1, 15)
weight = torch.arange(4, dtype=torch.float32).reshape(1, 1, 4).requires_grad_()


def convolve(x, weight):
    return tessera.torch.conv1d(torch.nn.functional.pad(x, (0, 3)), weight)


result = convolve(x, weight)
print(result.detach().flatten())
expected = torch.tensor([14.0, 20, 26, 32, 38, 44, 50, 56, 62, 68, 74, 80, 41, 14, 0])
torch.testing.assert_close(result.flatten(), expected)
compiled = torch.compile(convolve, fullgraph=True, backend="aot_eager")
torch.testing.assert_close(compiled(x, weight), result)

# Each tap is multiplied by the elements from its place on: 0 + ... + 14, then 1 + ... + 14, and so on.
result.sum().backward()
torch.testing.assert_close(weight.grad.flatten(), torch.tensor([105.0, 105, 104, 102]))
