#!/usr/bin/env python3
"""log P of some texts under the model of this folder, computed by PyTorch in double precision: golden.tsv, "text TAB log P".

The decoder-only Transformer is written out here from Vaswani et al. 2017 (pre-norm) and the names in model.safetensors; nothing of jumok is used.
"""
import json
import math
import pathlib
import random

import torch
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).parent
CONFIG = json.loads((HERE / "config.json").read_text())["model"]
W = {name: tensor.double() for name, tensor in load_file(HERE / "model.safetensors").items()}
UNKNOWN, START, END, FIRST_DIGIT = 0, 1, 2, 3
WIDTH, HEADS = CONFIG["model.width"], CONFIG["attention.heads"]


def linear(name, x):
    return x @ W[name + ".weight"].T + W[name + ".bias"]


def norm(name, x):
    return torch.nn.functional.layer_norm(x, (WIDTH,), W[name + ".weight"], W[name + ".bias"], eps=1e-5)


def attention(name, x):
    q, k, v = (linear(f"{name}.{part}", x).reshape(len(x), HEADS, WIDTH // HEADS).transpose(0, 1) for part in ["query", "key", "value"])
    scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH // HEADS)
    scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    return linear(name + ".output", (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), WIDTH))


def log_prob(text):
    ids = [START] + text
    angle = torch.arange(len(ids)).double()[:, None] / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)
    x = W["embedding.weight"][ids] * math.sqrt(WIDTH) + torch.stack([angle.sin(), angle.cos()], 2).reshape(len(ids), WIDTH)
    for layer in range(CONFIG["decoder.layers"]):
        prefix = f"decoder.layers.{layer}."
        x = x + attention(prefix + "self_attention", norm(prefix + "self_attention_norm", x))
        inner = torch.relu(linear(prefix + "feed_forward.inner", norm(prefix + "feed_forward_norm", x)))
        x = x + linear(prefix + "feed_forward.outer", inner)
    logits = norm("decoder.norm", x) @ W["embedding.weight"].T
    logits[:, [UNKNOWN, START]] = -math.inf  # never produced, so left out of the softmax
    labels = torch.tensor(text + [END])
    return torch.log_softmax(logits, -1)[torch.arange(len(labels)), labels].sum().item()


def main():
    random.seed(2)
    texts = (HERE / "unseen.text").read_text().splitlines()[:10]
    texts += [" ".join(random.choices("0123456789", k=n)) for n in range(16)]  # most are nothing like what it learnt; the first is empty
    rows = [f"{text}\t{log_prob([FIRST_DIGIT + int(d) for d in text.split()]):.9f}\n" for text in texts]
    (HERE / "golden.tsv").write_text("".join(rows))


if __name__ == "__main__":
    main()
