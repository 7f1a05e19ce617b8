#!/usr/bin/env python3
"""Greedy decoding speed of CTranslate2 on the model shape of `jumok bench translate`: random weights, f32, the same batch and steps.

pip install ctranslate2==4.8.5 numpy
python3 bench/peers/ctranslate2_decode.py [--threads N]      prints target symbols per second: median of the rounds (least, most)
"""
import argparse
import statistics
import tempfile
import time

import ctranslate2
import numpy
from ctranslate2.specs import TransformerSpec

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1, help="workers, one thread each; each takes whole batches")
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=512)
parser.add_argument("--heads", type=int, default=8)
parser.add_argument("--feed-forward", type=int, default=2048)
parser.add_argument("--vocabulary", type=int, default=8000)
parser.add_argument("--sentences", type=int, default=32)
parser.add_argument("--rounds", type=int, default=5)
args = parser.parse_args()

rng = numpy.random.default_rng(1)


def matrix(rows, columns):
    return (rng.standard_normal((rows, columns)) * 0.02).astype(numpy.float32)


def linear(spec, rows, columns):
    spec.weight = matrix(rows, columns)
    spec.bias = numpy.zeros(rows, numpy.float32)


def norm(spec):
    spec.gamma = numpy.ones(args.width, numpy.float32)
    spec.beta = numpy.zeros(args.width, numpy.float32)


def attention(spec, fused):
    norm(spec.layer_norm)
    sizes = [3, 1] if fused else [1, 2, 1]
    for layer, size in zip(spec.linear, sizes):
        linear(layer, size * args.width, args.width)


def stack(spec, decoder):
    for layer in spec.layer:
        attention(layer.self_attention, True)
        if decoder:
            attention(layer.attention, False)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, args.feed_forward, args.width)
        linear(layer.ffn.linear_1, args.width, args.feed_forward)
    norm(spec.layer_norm)


spec = TransformerSpec.from_config(args.layers, args.heads, pre_norm=True)
stack(spec.encoder, False)
stack(spec.decoder, True)
spec.encoder.embeddings[0].weight = matrix(args.vocabulary, args.width)
spec.decoder.embeddings.weight = matrix(args.vocabulary, args.width)
linear(spec.decoder.projection, args.vocabulary, args.width)
tokens = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(3, args.vocabulary)]
spec.register_source_vocabulary(tokens)
spec.register_target_vocabulary(tokens)
with tempfile.TemporaryDirectory() as folder:
    spec.validate()
    spec.optimize()
    spec.save(folder)
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", inter_threads=args.threads, intra_threads=1)

batch = [[f"w{rng.integers(3, args.vocabulary)}" for _ in range(15)] + ["</s>"] for _ in range(args.sentences)]
steps = 20
rates = []
for round_ in range(args.rounds + 1):
    begin = time.perf_counter()
    results = translator.translate_batch(batch * args.threads, beam_size=1, max_batch_size=args.sentences, min_decoding_length=steps,
                                         max_decoding_length=steps)
    count = sum(len(r.hypotheses[0]) for r in results)
    assert count == steps * args.sentences * args.threads, count
    if round_ > 0:
        rates.append(count / (time.perf_counter() - begin))
print(f"CTranslate2 {ctranslate2.__version__}: {statistics.median(rates):.0f} target symbols/s (median; {min(rates):.0f} to {max(rates):.0f})")
