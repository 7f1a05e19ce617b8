#!/usr/bin/env python3
"""Two little language models with random parameters, and their logits for some texts, computed by PyTorch in double precision.

    python3 tests/models/data/language-model/make.py

Writes NAME.safetensors (parameters, with their values in f32) and golden.json. The decoder-only Transformer is written out here from Vaswani et al.
2017 (pre-norm or post-norm, without encoder and cross-attention); nothing of jumok is used but the names of its parameters.
"""
import json
import math
import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
VOCABULARY, WIDTH, HEADS, INNER, LAYERS, POSITIONS = 11, 16, 2, 24, 2, 32
START = 1
TEXTS = [[], [3], [7, 7, 7], [3, 4, 5, 6, 7, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 0, 1, 10, 5]]
MODELS = {"pre-sinusoidal-tied": {"pre": True, "learned": False, "tied": True},
          "post-learned-untied": {"pre": False, "learned": True, "tied": False}}


def parameters(pre, learned, tied):
    w = {}

    def add(name, *shape, mean=0.0, spread=0.4):
        w[name] = mean + spread * torch.randn(*shape)

    add("embedding.weight", VOCABULARY, WIDTH)
    if not tied:
        add("output.weight", VOCABULARY, WIDTH)
    if learned:
        add("decoder.positions.weight", POSITIONS, WIDTH)
    norms = ["decoder.norm"] if pre else []
    for layer in range(LAYERS):
        prefix = f"decoder.layers.{layer}."
        for part in ["query", "key", "value", "output"]:
            add(f"{prefix}self_attention.{part}.weight", WIDTH, WIDTH)
            add(f"{prefix}self_attention.{part}.bias", WIDTH)
        add(prefix + "feed_forward.inner.weight", INNER, WIDTH)
        add(prefix + "feed_forward.inner.bias", INNER)
        add(prefix + "feed_forward.outer.weight", WIDTH, INNER)
        add(prefix + "feed_forward.outer.bias", WIDTH)
        norms += [prefix + "self_attention_norm", prefix + "feed_forward_norm"]
    for name in norms:
        add(name + ".weight", WIDTH, mean=1.0)
        add(name + ".bias", WIDTH)
    return w


class Model:
    def __init__(self, w, pre, learned, tied):
        self.w = {name: tensor.double() for name, tensor in w.items()}
        self.pre, self.learned, self.tied = pre, learned, tied

    def linear(self, name, x):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def norm(self, name, x):
        return torch.nn.functional.layer_norm(x, (WIDTH,), self.w[name + ".weight"], self.w[name + ".bias"], eps=1e-5)

    def attention(self, name, x):
        q, k, v = (self.linear(f"{name}.{part}", x).reshape(len(x), HEADS, WIDTH // HEADS).transpose(0, 1)
                   for part in ["query", "key", "value"])
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
        return self.linear(name + ".output", (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), WIDTH))

    def feed_forward(self, name, x):
        return self.linear(name + ".outer", torch.relu(self.linear(name + ".inner", x)))

    def embed(self, ids):
        if self.learned:
            positions = self.w["decoder.positions.weight"][:len(ids)]
        else:
            angle = torch.arange(len(ids)).double()[:, None] / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)
            positions = torch.stack([angle.sin(), angle.cos()], 2).reshape(len(ids), WIDTH)
        return self.w["embedding.weight"][ids] * math.sqrt(WIDTH) + positions

    def logits(self, ids):
        x = self.embed(ids)
        for layer in range(LAYERS):
            for part, sublayer in [("self_attention", self.attention), ("feed_forward", self.feed_forward)]:
                name = f"decoder.layers.{layer}.{part}"
                x = x + sublayer(name, self.norm(name + "_norm", x)) if self.pre else self.norm(name + "_norm", x + sublayer(name, x))
        if self.pre:
            x = self.norm("decoder.norm", x)
        return x @ self.w["embedding.weight" if self.tied else "output.weight"].T


def main():
    torch.manual_seed(1)
    golden = {}
    for name, kind in MODELS.items():
        w = parameters(**kind)
        save_file(w, HERE / f"{name}.safetensors")
        model = Model(w, **kind)
        golden[name] = [{"text": text, "logits": [[round(v, 7) for v in row] for row in model.logits([START] + text).tolist()]} for text in TEXTS]
    (HERE / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
