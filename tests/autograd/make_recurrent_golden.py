#!/usr/bin/env python3
"""Writes data/recurrent.txt: recurrent layers and their gradients by PyTorch in float64.

    python3 tests/autograd/make_recurrent_golden.py > tests/autograd/data/recurrent.txt

tanh, gru and lstm are torch.nn.RNN, GRU and LSTM, bidirectional, over a packed batch. gru-before, which PyTorch does not have, is the GRU of
Cho 2014 with the reset before the product, written out sentence by sentence; its gradients are PyTorch's.
One line a matrix: case/name, rows, columns, numbers.
"""
import torch
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

torch.set_default_dtype(torch.float64)
torch.manual_seed(20250211)
LENGTHS, IN, WIDTH = [3, 5, 1], 2, 5
SUFFIXES = {"forward": "_l0", "backward": "_l0_reverse"}


def f32(*shape):
    """Random values that a float holds exactly."""
    return torch.randn(*shape).float().double()


def show(name, tensor):
    matrix = tensor.detach().reshape(-1, tensor.shape[-1])
    print(name, *matrix.shape, *(f"{v:.12g}" for v in matrix.reshape(-1).tolist()))


def before(sentence, h, w):
    """One direction of one sentence: r, z = σ(..), n = tanh(W x + U (r ∘ h)), h' = (1 - z) n + z h."""
    out = []
    for x in sentence:
        xr, xz, xn = (w["ih"] @ x + w["bih"]).chunk(3)
        ur, uz, un = w["hh"].chunk(3)
        br, bz, bn = w["bhh"].chunk(3)
        r, z = torch.sigmoid(xr + ur @ h + br), torch.sigmoid(xz + uz @ h + bz)
        n = torch.tanh(xn + un @ (r * h) + bn)
        h = (1 - z) * n + z * h
        out.append(h)
    return torch.stack(out), h


def run_before(sentences, h0, weights):
    rows, last = [], [[], []]
    for b, sentence in enumerate(sentences):
        left, end = before(sentence, h0[0, b], weights["forward"])
        right, start = before(sentence.flip(0), h0[1, b], weights["backward"])
        rows.append(torch.cat([left, right.flip(0)], 1))
        last[0].append(end), last[1].append(start)
    return torch.cat(rows), torch.stack([torch.stack(l) for l in last])


def run_torch(layer, x, sentences, initial):
    out, last = layer(pack_sequence(sentences, enforce_sorted=False), initial)
    padded, lengths = pad_packed_sequence(out, batch_first=True)
    return torch.cat([padded[b, :n] for b, n in enumerate(lengths)]), last


def case(name, kind):
    layer = kind(IN, WIDTH, bidirectional=True)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(f32(*p.shape) / 2)
    weights = {d: {k: getattr(layer, f"{long}{s}") for k, long in dict(ih="weight_ih", hh="weight_hh", bih="bias_ih", bhh="bias_hh").items()}
               for d, s in SUFFIXES.items()}
    x, h0, c0 = f32(sum(LENGTHS), IN), f32(2, len(LENGTHS), WIDTH), f32(2, len(LENGTHS), WIDTH)
    for t in (x, h0, c0):
        t.requires_grad_()
    sentences = list(x.split(LENGTHS))
    is_lstm = kind is torch.nn.LSTM
    if name == "gru-before":
        h, last = run_before(sentences, h0, weights)
    else:
        h, last = run_torch(layer, x, sentences, (h0, c0) if is_lstm else h0)
    results = {"h": h, "last_h": last[0] if is_lstm else last, **({"last_c": last[1]} if is_lstm else {})}
    inputs = {"x": x, "h0": h0, **({"c0": c0} if is_lstm else {})}
    inputs |= {f"{d}/{k}": t for d in weights for k, t in weights[d].items()}
    loss = 0
    for key, t in results.items():
        show(f"{name}/{key}", t)
        w = f32(*t.shape)
        show(f"{name}/weight-of-{key}", w)
        loss = loss + (t * w).sum()
    loss.backward()
    for key, t in inputs.items():
        show(f"{name}/{key}", t)
        show(f"{name}/d-{key}", t.grad)


print(f"# torch {torch.__version__.split('+')[0]}, lengths {LENGTHS}, {IN} inputs, width {WIDTH}; made by make_recurrent_golden.py")
case("tanh", torch.nn.RNN)
case("gru", torch.nn.GRU)
case("gru-before", torch.nn.GRU)
case("lstm", torch.nn.LSTM)
