"""Writes python.safetensors: a file of the reference implementation, for tests/models/safetensors_test.cc (pip install safetensors torch)."""
import pathlib

import torch
from safetensors.torch import save_file

tensors = {
    "b.matrix": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4,
    "a.counts": torch.tensor([1, -2, 3], dtype=torch.int64),
    "empty": torch.zeros((0, 3)),
    "scalar": torch.tensor(2.5),
    "half": torch.tensor([1.0, -2.0, 65504.0, 2.0**-24], dtype=torch.float16),
    "brain": torch.tensor([1.0, -2.5, 3.0e38], dtype=torch.bfloat16),
    "double": torch.tensor([0.1], dtype=torch.float64),
    'quote " slash \\ é\x7f': torch.tensor([True, False, True]),
}
save_file(tensors, pathlib.Path(__file__).with_name("python.safetensors"), metadata={"format": "pt <&>"})
