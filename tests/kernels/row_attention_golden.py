#!/usr/bin/env python3
"""Writes row_attention_golden.h: the RNN attentions and their gradients by PyTorch in float64, written down from the papers' formulas.

    python3 tests/kernels/row_attention_golden.py > tests/kernels/row_attention_golden.h
"""
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(20240915)

QUERIES, KEYS, HEADS, WIDTH, VALUES, SIGMA = 3, 5, 2, 3, 2, 1.5


def f32(*shape, scale=1.0):
    """Random values that a float holds exactly."""
    return (torch.randn(*shape) * scale).float().double()


def show(name, tensor):
    values = ", ".join(f"{v:.17g}" for v in tensor.detach().reshape(-1).tolist())
    print(f".{name} = {{{values}}},")


def per_head(x):
    """[N, H·w] -> [H, N, w]"""
    return x.reshape(x.shape[0], HEADS, -1).transpose(0, 1)


def attention(score, local):
    """score: additive, dot or given; local: window [p - 1, p + 1] around the centre, and Luong's Gaussian (§3.2)."""
    print(f"{{.score = RowScore::k{score.capitalize()}, .local = {str(local).lower()},")
    width = KEYS if score == "given" else WIDTH
    values = dict(q=f32(QUERIES, HEADS * width))
    if score != "given":
        values["k"] = f32(KEYS, HEADS * width)
    values["v"] = f32(KEYS, HEADS * VALUES)
    if score == "additive":
        values["u"] = f32(HEADS * width)
    if local:
        values["centre"] = torch.tensor([0.25, 2.75, 3.5])
    dout = f32(QUERIES, HEADS * VALUES)
    for key, tensor in values.items():
        show(key, tensor)
        tensor.requires_grad_()
    show("dout", dout)

    q, v = per_head(values["q"]), per_head(values["v"])
    if score == "additive":
        u = values["u"].reshape(HEADS, 1, 1, width)
        e = (u * torch.tanh(q.unsqueeze(2) + per_head(values["k"]).unsqueeze(1))).sum(-1)
    elif score == "dot":
        e = 0.7 * q @ per_head(values["k"]).transpose(1, 2)
    else:
        e = q
    if local:
        position, p = torch.arange(KEYS), values["centre"].unsqueeze(1)
        first, last = (torch.floor(p) - 1).detach(), (torch.floor(p) + 2).detach()
        e = e.masked_fill((position < first) | (position >= last), -torch.inf)
    alpha = torch.softmax(e, -1)
    if local:
        alpha = alpha * torch.exp(-((position - p) ** 2) / (2 * SIGMA**2))
    out = (alpha @ v).transpose(0, 1).reshape(QUERIES, HEADS * VALUES)
    (out * dout).sum().backward()
    show("out", out)
    show("weights", alpha)
    for key, tensor in values.items():
        show(f"d{key}", tensor.grad)


print("// Made by row_attention_golden.py: PyTorch in float64. Matrices row by row; 3 queries, 5 keys, 2 heads of width 3 (5 given scores),")
print("// values of width 2. Local: first = floor(p) - 1, last = floor(p) + 2, sigma 1.5. Dot: scale 0.7.\n#pragma once\n")
print('#include <vector>\n\n#include "kernels/row_attention.h"\n\nnamespace jumok::kernels::golden {\n\nstruct RowAttentionValues {')
print("  RowScore score;\n  bool local;\n  std::vector<double> q, k, v, u, centre, dout, out;")
print("  std::vector<double> weights;  // [H, T, S]\n  std::vector<double> dq, dk, dv, du, dcentre;\n};\n")
print("inline const std::vector<RowAttentionValues> row_attention = {")
for score in ("additive", "dot", "given"):
    for local in (False, True):
        attention(score, local)
        print("},")
print("};\n\n}  // namespace jumok::kernels::golden")
