"""pytorch.py without PyTorch: what a row of it says of an operation that takes no time."""

import os
import sys
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import pytorch  # noqa: E402

OneSecond = types.SimpleNamespace(samples=lambda launch: ([1.0], 1))


def dtype(size):
    return types.SimpleNamespace(itemsize=size)


TORCH = types.SimpleNamespace(
    float32=dtype(4), float64=dtype(8), bfloat16=dtype(2), cuda=types.SimpleNamespace(OutOfMemoryError=MemoryError)
)


class Rows(unittest.TestCase):
    def test_bytes_are_those_of_the_fields_that_a_library_gets(self):
        ours = {"space": "cuda", "bytes": 4800.0, "flops": 7.0}

        def made(fields, parameters):
            return lambda: None

        mocked = unittest.mock.patch.multiple(pytorch, fields_of=lambda *_: {}, largest_error=lambda *_: 0.0)
        for name, short, moved in (
            ("float", None, 4800), ("float", TORCH.bfloat16, 2400), ("double", None, 4800),
            ("double", TORCH.bfloat16, 1200),
        ):  # fmt: skip
            case = {"app": "attention", "dtype": name, "input_shapes": {}, "parameters": {}}
            with mocked:
                row = pytorch.row_of(TORCH, OneSecond, "flash_bf16", made, short, made, case, 0, ours, "cpu")
            self.assertEqual((row["bytes"], row["bytes_per_second"], row["flops"]), (moved, moved, 7))


if __name__ == "__main__":
    unittest.main()
