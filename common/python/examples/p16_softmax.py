#!/usr/bin/env python3
"""P16, softmax as an operation of Python: the book's four numbers, and a batch by rows and by columns."""

import numpy

import tessera

result = tessera.softmax(numpy.array([1, 2, 3, 4], "float32"))
print(result)
numpy.testing.assert_allclose(result, [0.0320586, 0.08714432, 0.2368828, 0.6439143], rtol=1e-6)

batch = numpy.arange(128, dtype="float32").reshape(8, 16) % 11
for axis in (0, 1):
    powers = numpy.exp(batch - batch.max(axis, keepdims=True))
    expected = powers / powers.sum(axis, keepdims=True)
    numpy.testing.assert_allclose(tessera.softmax(batch, axis), expected, rtol=1e-5)
