#!/usr/bin/env python3
"""log P of some pairs under the model of this folder, computed by PyTorch in double precision: golden.tsv, "source TAB target TAB log P",
and what the decoder attended to in the source in some of them: attention.json, weights [layers, heads, T, S] with the end symbols.

The Transformer is written out here from Vaswani et al. 2017 (pre-norm) and the names in model.safetensors; nothing of jumok is used.
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


def attention(name, queries, memory, causal=False, maps=None):
    q, k, v = (linear(f"{name}.{part}", x) for part, x in [("query", queries), ("key", memory), ("value", memory)])
    split = lambda x: x.reshape(len(x), HEADS, WIDTH // HEADS).transpose(0, 1)  # noqa: E731  [H, rows, d]
    scores = split(q) @ split(k).transpose(1, 2) / math.sqrt(WIDTH // HEADS)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    if maps is not None:
        maps.append(scores.softmax(-1).tolist())
    return linear(name + ".output", (scores.softmax(-1) @ split(v)).transpose(0, 1).reshape(len(queries), WIDTH))


def feed_forward(name, x):
    return linear(name + ".outer", torch.relu(linear(name + ".inner", x)))


def embed(ids):
    angle = torch.arange(len(ids)).double()[:, None] / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)
    return W["embedding.weight"][ids] * math.sqrt(WIDTH) + torch.stack([angle.sin(), angle.cos()], 2).reshape(len(ids), WIDTH)


def encode(ids):
    x = embed(ids)
    for layer in range(CONFIG["encoder.layers"]):
        prefix = f"encoder.layers.{layer}."
        n = norm(prefix + "self_attention_norm", x)
        x = x + attention(prefix + "self_attention", n, n)
        x = x + feed_forward(prefix + "feed_forward", norm(prefix + "feed_forward_norm", x))
    return norm("encoder.norm", x)


def log_prob(source, target, maps=None):
    memory = encode(source + [END])
    x = embed([START] + target)
    for layer in range(CONFIG["decoder.layers"]):
        prefix = f"decoder.layers.{layer}."
        n = norm(prefix + "self_attention_norm", x)
        x = x + attention(prefix + "self_attention", n, n, causal=True)
        x = x + attention(prefix + "cross_attention", norm(prefix + "cross_attention_norm", x), memory, maps=maps)
        x = x + feed_forward(prefix + "feed_forward", norm(prefix + "feed_forward_norm", x))
    logits = norm("decoder.norm", x) @ W["embedding.weight"].T
    logits[:, [UNKNOWN, START]] = -math.inf  # never produced, so left out of the softmax
    return logits.log_softmax(-1)[range(len(x)), target + [END]].sum().item()


def main():
    assert CONFIG["model.norm"] == "pre" and CONFIG["positions.kind"] == "sinusoidal" and CONFIG["embedding.tying"] == "all"
    random.seed(2)
    sources = (HERE / "unseen.source").read_text().splitlines()[:20]
    pairs = [(s, s[::-1]) for s in sources] + [(s, s) for s in sources[:5]]
    pairs += [(s, " ".join(random.choices("0123456789", k=random.randint(0, 15)))) for s in sources[5:15]]
    symbols = lambda text: [FIRST_DIGIT + int(digit) for digit in text.split()]  # noqa: E731
    with open(HERE / "golden.tsv", "w") as out:
        for source, target in pairs:
            out.write(f"{source}\t{target}\t{log_prob(symbols(source), symbols(target)):.9f}\n")
    examples = []
    for source, target in [("3 1 4", "4 1 3"), ("7", "7"), ("1 2 3 4 5", "9 9"), ("0 8", "0 1 2 3 4 5 6 7 8 9 0 1")]:
        maps = []
        log_prob(symbols(source), symbols(target), maps)
        rounded = [[[[round(w, 7) for w in row] for row in head] for head in layer] for layer in maps]
        examples.append({"source": source, "target": target, "weights": rounded})
    lines = ",\n".join(json.dumps(example, separators=(",", ":")) for example in examples)
    (HERE / "attention.json").write_text("[\n" + lines + "\n]\n")


main()
