#!/usr/bin/env python3
"""P17, attention as an operation of Python: one query and 16 keys of 16 elements, random as in the book."""

import numpy

import tessera

random = numpy.random.RandomState(42)
query, key, value = (
    (random.randn(rows, 16) * 0.1).astype("float32") for rows in (1, 16, 16)
)  # fmt: skip
result = tessera.scaled_dot_product_attention(query, key, value, scale=1)
print(result[0, :5])
numpy.testing.assert_allclose(
    result[0, :5], [-0.00935538, -0.0243433, 0.00306551, 0.02346884, 0.019306], rtol=1e-5, atol=1e-8
)
