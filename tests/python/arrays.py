"""What the tests of the module share: exporters of arrays, and a count of what Python allocates."""

import contextlib
import tracemalloc
import weakref

import numpy


class Exporter:
    """An array that only DLPack can see."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Temporary:
    """Exports an array that nobody else keeps. Its memory is filled with `poison` when the last user lets it go."""

    def __init__(self, values, poison):
        self.memory, self.poison, self.is_gone = numpy.array(values), poison, False

    def __dlpack__(self, **options):
        array = self.memory.view(_Weak)
        weakref.finalize(array, self.let_go)
        return array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()

    def let_go(self):
        self.is_gone = True
        self.memory[...] = self.poison


class _Weak(numpy.ndarray):
    """A view with a life of its own."""


@contextlib.contextmanager
def allocations():
    """Yields a list that gets the largest number of bytes that Python's libraries had allocated more than before."""
    found = []
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        yield found
        found.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


def address(array):
    return array.__array_interface__["data"][0]
