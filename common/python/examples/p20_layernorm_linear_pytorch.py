#!/usr/bin/env python3
"""P20, layer normalisation and a linear layer as one operation of PyTorch, forward and backward: 16 rows of 8 and 16
outputs, against PyTorch's two operations."""

import torch

import tessera.torch

generator = torch.Generator().manual_seed(42)
shapes = ((16, 8), (8,), (8,), (16, 8), (16,))  # x, gamma, beta, w, bias
ours = [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]
theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
grad_y = torch.randn(16, 16, generator=generator)

y = tessera.torch.layernorm_linear(*ours)
x, gamma, beta, w, bias = theirs
expected = torch.nn.functional.linear(torch.nn.functional.layer_norm(x, (8,), gamma, beta), w, bias)
torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-5)

y.backward(grad_y)
expected.backward(grad_y)
for name, tensor, reference in zip(("x", "gamma", "beta", "w", "bias"), ours, theirs, strict=True):
    difference = (tensor.grad - reference.grad).abs().max()
    print(f"gradient of {name}: differs by {difference:.1e}")
    torch.testing.assert_close(tensor.grad, reference.grad, rtol=1e-4, atol=1e-4)
