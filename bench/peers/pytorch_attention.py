#!/usr/bin/env python3
"""Scaled dot-product attention in PyTorch on the shapes of `jumok bench attention`: f32, its fused kernel for CPUs, forward and backward.

pip install torch==2.15.0
jumok bench attention --rules full,causal --cache 0 --threads 1 --json > jumok.json
python3 bench/peers/pytorch_attention.py jumok.json     prints, for each row of that file, both fractions of the peak it states and their ratio
"""
import json
import statistics
import sys
import time

import torch

forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def median_seconds(call, budget=0.5, warm_up=2):
    for _ in range(warm_up):
        call()
    times, end = [], time.perf_counter() + budget
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def heads_of(sentences, heads, length, width):
    """[B, H, T, d] as a model has it: the heads side by side in the rows of [B, T, H · d]."""
    return torch.randn(sentences, length, heads, width).transpose(1, 2)


def measure(row, settings):
    rule, direction, length = row["row"].split()
    length, causal = int(length), rule == "causal"
    q, k, v, gradient = (heads_of(row["sentences"], settings["heads"], length, settings["width"]) for _ in range(4))
    out, lse = forward(q, k, v, 0.0, causal)
    if direction == "forward":
        return median_seconds(lambda: forward(q, k, v, 0.0, causal))
    return median_seconds(lambda: backward(gradient, q, k, v, out, lse, 0.0, causal))


with open(sys.argv[1], encoding="utf-8") as file:
    jumok = json.load(file)
torch.set_num_threads(jumok["machine"]["threads"])
torch.set_flush_denormal(True)
peak = 1e9 * jumok["machine"]["fma_peak_gflops"]
print(f"{'row':<22}{'jumok':>8}{'PyTorch':>9}{'ratio':>7}")
for row in jumok["rows"]:
    if row["row"].split()[0] not in ("full", "causal"):
        continue
    seconds = measure(row, jumok["settings"])
    print(f"{row['row']:<22}{row['fraction_of_peak']:>8.1%}{row['flop'] / seconds / peak:>9.1%}{seconds / row['seconds']['median']:>7.2f}", flush=True)
