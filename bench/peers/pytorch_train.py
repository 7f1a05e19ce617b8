#!/usr/bin/env python3
"""Training speed of the same Transformer in plain PyTorch, on sentences of the lengths of `jumok bench train`: f32, fused Adam, padded batches.

pip install torch==2.15.0
python3 bench/peers/pytorch_train.py [--preset tiny|small|base] [--threads N]     prints real target symbols per second
"""
import statistics
import time

import torch
from torch import nn

from sentences import sub_batches
from shapes import PRESETS, arguments

args = arguments(updates=6)
torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(1)
layers, width, heads, feed_forward = PRESETS[args.preset]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(args.vocabulary, width)
        self.positions = nn.Parameter(torch.randn(64, width) * 0.02)
        self.transformer = nn.Transformer(width, heads, layers, layers, feed_forward, dropout=0.1, batch_first=True, norm_first=True)

    def embed(self, ids):
        return self.embedding(ids) * width**0.5 + self.positions[: ids.shape[1]]

    def forward(self, source, target):
        hidden = self.transformer(self.embed(source), self.embed(target), src_key_padding_mask=source == 0, memory_key_padding_mask=source == 0,
                                  tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]), tgt_is_causal=True)
        return hidden @ self.embedding.weight.T


batches, tokens = sub_batches(args.batch_tokens, args.vocabulary)

model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
loss_of = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1, reduction="sum")
rates = []
for update in range(args.updates + 2):
    begin = time.perf_counter()
    optimizer.zero_grad()
    for ids, _ in batches:
        loss = loss_of(model(ids, ids).reshape(-1, args.vocabulary), ids.reshape(-1)) / tokens
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if update >= 2:
        rates.append(tokens / (time.perf_counter() - begin))
print(f"PyTorch {torch.__version__}, {args.threads} threads, transformer-{args.preset}: {statistics.median(rates):.0f} target symbols/s "
      f"(median of {args.updates} updates of {tokens}; {min(rates):.0f} to {max(rates):.0f})")
