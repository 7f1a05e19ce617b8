#!/usr/bin/env python3
"""Training speed of the same recurrent encoder-decoder in plain PyTorch, on sentences of the lengths of `jumok bench train`: f32, fused Adam,
padded batches.

pip install torch==2.15.0
python3 bench/peers/pytorch_rnn_train.py [--preset bahdanau|luong-general] [--threads N]     prints real target symbols per second
"""
import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sentences import sub_batches

parser = argparse.ArgumentParser()
parser.add_argument("--preset", default="bahdanau", choices=["bahdanau", "luong-general"])
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--width", type=int, default=256)
parser.add_argument("--vocabulary", type=int, default=8000)
parser.add_argument("--batch-tokens", type=int, default=4096)
parser.add_argument("--updates", type=int, default=6)
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(1)
width = args.width


def encode(rnn, embedded, lengths):
    states, last = rnn(pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False))
    return pad_packed_sequence(states, batch_first=True)[0], last


class Bahdanau(nn.Module):
    """GRU, both directions of D; attention inside the step; maxout readout (the preset rnn-bahdanau)."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(args.vocabulary, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(2 * width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.cell = nn.GRUCell(3 * width, width)
        self.readout = nn.Linear(4 * width, 2 * width)

    def forward(self, source, target, lengths):
        memory, last = encode(self.encoder, self.embedding(source), lengths)
        keys, blocked = self.key(memory), (source == 0)
        embedded = self.embedding(target)
        state = torch.tanh(self.bridge(last[1]))
        states, contexts = [], []
        for t in range(target.shape[1]):
            scores = self.score(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(2)
            weights = torch.softmax(scores.masked_fill(blocked, float("-inf")), 1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            state = self.cell(torch.cat([embedded[:, t], context], 1), state)
            states.append(state)
            contexts.append(context)
        rows = torch.cat([torch.stack(states, 1), embedded, torch.stack(contexts, 1)], 2)
        hidden = self.readout(rows).view(*rows.shape[:2], width, 2).amax(3)
        return hidden @ self.embedding.weight.T


class LuongGeneral(nn.Module):
    """LSTM, both directions of D / 2; attention over the whole target after the RNN (the preset rnn-luong-general)."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(args.vocabulary, width)
        self.encoder = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.key = nn.Linear(width, width, bias=False)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.readout = nn.Linear(2 * width, width)

    def forward(self, source, target, lengths):
        memory, (h, c) = encode(self.encoder, self.embedding(source), lengths)
        first = tuple(torch.cat([x[0], x[1]], 1).unsqueeze(0) for x in (h, c))
        states, _ = self.decoder(self.embedding(target), first)
        scores = torch.bmm(states, self.key(memory).transpose(1, 2)).masked_fill((source == 0).unsqueeze(1), float("-inf"))
        contexts = torch.bmm(torch.softmax(scores, 2), memory)
        hidden = torch.tanh(self.readout(torch.cat([contexts, states], 2)))
        return hidden @ self.embedding.weight.T


batches, tokens = sub_batches(args.batch_tokens, args.vocabulary)

model = Bahdanau() if args.preset == "bahdanau" else LuongGeneral()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
loss_of = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1, reduction="sum")
rates = []
for update in range(args.updates + 2):
    begin = time.perf_counter()
    optimizer.zero_grad()
    for ids, n in batches:
        loss = loss_of(model(ids, ids, n).reshape(-1, args.vocabulary), ids.reshape(-1)) / tokens
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if update >= 2:
        rates.append(tokens / (time.perf_counter() - begin))
print(f"PyTorch {torch.__version__}, {args.threads} threads, rnn-{args.preset}: {statistics.median(rates):.0f} target symbols/s "
      f"(median of {args.updates} updates of {tokens}; {min(rates):.0f} to {max(rates):.0f})")
