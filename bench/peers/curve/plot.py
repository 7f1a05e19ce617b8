#!/usr/bin/env python3
"""Draws BLEU against minutes of training from the logs of several runs, and prints when each reached which BLEU.

pip install matplotlib==3.9.2
python3 plot.py --output curve.svg jumok=MODEL/training.jsonl PyTorch=pytorch.jsonl Marian=marian.jsonl
jumok's log counts its validations as time; they are taken out here, as they are for the others. A validation is the time since
the line before it, which is that of its last update where validate.every is a multiple of 20, the updates between two lines.
"""
import argparse
import json

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

parser = argparse.ArgumentParser()
parser.add_argument("--output", required=True)
parser.add_argument("--title", default="")
parser.add_argument("logs", nargs="+", metavar="NAME=FILE")
args = parser.parse_args()


def points(path):
    """[(minutes, BLEU)] of a log of either kind."""
    found, last, validating = [], 0.0, 0.0
    for event in map(json.loads, open(path, encoding="utf-8")):
        if event.get("event") == "valid":
            validating += event["seconds"] - last
            found.append(((event["seconds"] - validating) / 60, event["bleu"]))
        elif "bleu" in event:
            found.append((event["seconds"] / 60, max(event["bleu"], event.get("bleu_averaged", 0))))
        last = event["seconds"]
    return found


def reached(curve, bleu):
    return next((f"{minutes:.0f}" for minutes, score in curve if score >= bleu), "")


curves = {name: points(path) for name, path in (log.split("=", 1) for log in args.logs)}
levels = [10, 20, 25, 30, 35, 37, 39]
print("| minutes to BLEU | " + " | ".join(map(str, levels)) + " | best |\n|" + "---|" * (len(levels) + 2))
for name, curve in curves.items():
    print(f"| {name} | " + " | ".join(reached(curve, level) for level in levels) + f" | {max(s for _, s in curve):.1f} |")

figure, axes = pyplot.subplots(figsize=(7.6, 4.2))
for (name, curve), style in zip(curves.items(), ["-o", "--s", ":^", "-.d"]):
    axes.plot(*zip(*curve), style, label=name, markersize=4)
axes.set(xlabel="minutes of training", ylabel="BLEU (13a, lowercased, greedy) of val", title=args.title, xlim=(0, None), ylim=(0, None))
axes.grid(alpha=0.3)
axes.legend(loc="lower right")
figure.savefig(args.output, bbox_inches="tight")
