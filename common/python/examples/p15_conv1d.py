#!/usr/bin/env python3
"""P15, 1D convolution as an operation of Python: 15 elements and 4 taps of the book, with zeros behind the end."""

import numpy

import tessera

x = numpy.arange(15, dtype="float32")
weight = numpy.arange(4, dtype="float32")
result = tessera.conv1d(x, weight)
print(result)
numpy.testing.assert_array_equal(result, [14, 20, 26, 32, 38, 44, 50, 56, 62, 68, 74, 80, 41, 14, 0])
