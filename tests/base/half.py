"""Prints the constants of half_test.cc: FNV-1a 64 over tables made by numpy and torch (pip install numpy torch)."""
import numpy as np
import torch


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


halves = np.arange(65536, dtype=np.uint16).view(np.float16)
finite = halves[~np.isnan(halves)]
print("f16 -> f32, all but NaN:", hex(fnv(finite.astype(np.float32).tobytes())))
# 2^18 + 1 bit patterns spread over all f32; NaN left out
spread = (np.arange(2**18, dtype=np.uint64) * 16381 % 2**32).astype(np.uint32).view(np.float32)
spread = spread[~np.isnan(spread)]
with np.errstate(over="ignore", under="ignore"):
    print("f32 -> f16:", len(spread), hex(fnv(spread.astype(np.float16).tobytes())))
# the range of f16 itself, from 2^-26 to 2^17
inside = (np.arange(2**18, dtype=np.uint64) * 1377 + (101 << 23)).astype(np.uint32).view(np.float32)
with np.errstate(over="ignore", under="ignore"):
    print("f32 -> f16, its range:", inside[0], inside[-1], hex(fnv(inside.astype(np.float16).tobytes())))
print("f32 -> bf16:", hex(fnv(torch.from_numpy(spread).to(torch.bfloat16).view(torch.int16).numpy().tobytes())))
