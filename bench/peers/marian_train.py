#!/usr/bin/env python3
"""Training speed of the same Transformer in Marian, on sentences of the lengths of `jumok bench train`: f32, CPU.

pip install pymarian==1.12.42
python3 bench/peers/marian_train.py [--preset tiny|small|base] [--threads N]     prints real target symbols per second
"""
import multiprocessing
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from shapes import PRESETS, arguments

args = arguments(updates=8)
layers, width, heads, feed_forward = PRESETS[args.preset]
work = Path(tempfile.mkdtemp())


def write_text():
    """Sentences for the updates measured, two of warm-up and some to spare; symbols are numbers, the first two places Marian's own."""
    random.seed(1)
    pairs = int((args.updates + 4) * args.batch_tokens / 15.5)
    for side in ("source", "target"):
        lines = (" ".join(str(random.randrange(2, args.vocabulary)) for _ in range(random.randrange(7, 23))) for _ in range(pairs))
        (work / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = ["</s>", "<unk>"] + [str(i) for i in range(2, args.vocabulary)]
    (work / "vocabulary.yml").write_text("".join(f'"{name}": {i}\n' for i, name in enumerate(names)), encoding="utf-8")


def train():
    from pymarian import Trainer
    options = {
        "type": "transformer", "dim-emb": width, "enc-depth": layers, "dec-depth": layers, "transformer-heads": heads,
        "transformer-dim-ffn": feed_forward, "transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n",
        "transformer-dropout": 0.1, "tied-embeddings-all": "", "label-smoothing": 0.1, "learn-rate": 0.0001, "optimizer-params": "0.9 0.98 1e-9",
        "cost-type": "ce-mean-words", "mini-batch": 10000, "mini-batch-words": args.batch_tokens, "maxi-batch": 1000, "after": "1000000u",
        "model": work / "model.npz", "train-sets": f"{work}/source {work}/target", "vocabs": f"{work}/vocabulary.yml {work}/vocabulary.yml",
        "cpu-threads": args.threads, "workspace": 4000, "save-freq": "1000000u", "disp-freq": "1u", "log": work / "train.log", "quiet": "",
    }
    Trainer(" ".join(f"--{name} {value}".rstrip() for name, value in options.items())).train()


def rates():
    """Target symbols a second of the updates so far, as Marian's log has them."""
    log = work / "train.log"
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if "words/s" in line] if log.exists() else []
    return [float(line.split(" words/s")[0].split()[-1]) for line in lines]


write_text()
process = multiprocessing.Process(target=train)
process.start()
while process.is_alive() and len(rates()) < args.updates + 2:
    time.sleep(0.5)
process.terminate()
process.join()
measured = rates()[2:]
shutil.rmtree(work)
quartiles = statistics.quantiles(measured, n=4)
print(f"transformer-{args.preset}, {args.threads} threads: {quartiles[1]:.0f} target symbols/s (quartiles {quartiles[0]:.0f} to {quartiles[2]:.0f}, {len(measured)} updates)")
