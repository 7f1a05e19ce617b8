#!/usr/bin/env python3
"""Writes golden.h: kernel values computed by PyTorch in float64, and dropout bits computed from the hash as published.

    python3 tests/kernels/make_golden.py > tests/kernels/golden.h
"""
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(20240607)


def f32(*shape, scale=1.0):
    """Random values that a float holds exactly."""
    return (torch.randn(*shape) * scale).float().double()


def show(name, tensor):
    values = ", ".join(f"{v:.17g}" for v in tensor.detach().reshape(-1).tolist())
    print(f"inline const std::vector<double> {name} = {{{values}}};")


def layer_norm():
    x, f, dy, ds = f32(3, 5), f32(3, 5), f32(3, 5), f32(3, 5)
    gamma, beta = f32(5), f32(5)
    for name, t in dict(x=x, f=f, gamma=gamma, beta=beta, dy=dy, ds=ds).items():
        show(f"norm_{name}", t)
        t.requires_grad_(name in ("x", "f", "gamma", "beta"))
    s = x + f
    y = F.layer_norm(s, (5,), gamma, beta, eps=1e-5)
    ((y * dy).sum() + (s * ds).sum()).backward()
    for name, t in dict(y=y, dx=x.grad, dgamma=gamma.grad, dbeta=beta.grad).items():
        show(f"norm_{name}", t)


def softmax():
    x = f32(3, 7, scale=3)
    targets = torch.tensor([0, 6, 3])
    show("softmax_x", x)
    show("softmax_y", torch.softmax(x, 1))
    show("softmax_lse", torch.logsumexp(x, 1))
    for name, smoothing in (("plain", 0.0), ("smooth", 0.1)):
        x.grad = None
        x.requires_grad_()
        loss = F.cross_entropy(x, targets, reduction="sum", label_smoothing=smoothing)
        loss.backward()
        show(f"entropy_{name}_loss", loss)
        show(f"entropy_{name}_gradient", x.grad)


def adam():
    p, gradients = f32(4), f32(3, 4)
    show("adam_start", p)
    show("adam_gradients", gradients)
    p.requires_grad_()
    optimizer = torch.optim.Adam([p], lr=1e-2, betas=(0.9, 0.98), eps=1e-9)
    for g in gradients:
        p.grad = g.clone() * 0.5
        optimizer.step()
    show("adam_end", p)


def lowbias32(x):
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def dropout():
    """Which of 40 columns rate 0.3 keeps in rows with two keys, at site 5."""
    keep = []
    for key in (12345, 0xFFFFFFFF):
        seed = lowbias32(key ^ 5 * 0x9E3779B9 & 0xFFFFFFFF)
        bits = [lowbias32((seed + c * 0x9E3779B9) & 0xFFFFFFFF) for c in range(40)]
        keep.append([float(b >= int(float(torch.tensor(0.3).float()) * 2**32)) for b in bits])
    show("dropout_keep", torch.tensor(keep))


def positions():
    show("positions_4x6", torch.tensor([[torch.tensor(p / 10000 ** (2 * (c // 2) / 6)).sin() if c % 2 == 0 else
                                         torch.tensor(p / 10000 ** (2 * (c // 2) / 6)).cos() for c in range(6)] for p in range(4)]))


print("// Made by make_golden.py: PyTorch in float64. Matrices row by row.\n#pragma once\n\n#include <vector>\n")
print("namespace jumok::kernels::golden {\n")
for part in (layer_norm, softmax, adam, dropout, positions):
    part()
    print()
print("}  // namespace jumok::kernels::golden")
