#!/usr/bin/env python3
"""P19, embedding as an operation of PyTorch: 2 x 3 indices into 10 rows of 4, and the gradient of the table."""

import torch

import tessera.torch

weight = (torch.arange(1, 41, dtype=torch.float32).reshape(10, 4) / 10).requires_grad_()
indices = torch.tensor([[1, 5, 2], [7, 1, 9]])
result = tessera.torch.embedding(indices, weight)
print(result.detach())
torch.testing.assert_close(result, torch.nn.functional.embedding(indices, weight))

result.sum().backward()
counts = torch.tensor([0.0, 2, 1, 0, 0, 1, 0, 1, 0, 1])  # how often each row was taken
torch.testing.assert_close(weight.grad, counts.unsqueeze(1).expand(10, 4))
