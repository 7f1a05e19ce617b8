"""Parallel text for the peers, as `jumok train --lowercase` sees it: lowercased lines, jumok's own subwords, batches by target symbols."""
import argparse
import gzip
import random
from pathlib import Path

import sacrebleu
import sentencepiece


def lines_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if str(path).endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        return [line.rstrip("\n").lower() for line in file]


class Corpus:
    """`folder` holds train.LANG and val.LANG, .gz or not; `subwords` is the joint.spm of a model that jumok trained."""

    def __init__(self, folder, source, target, subwords):
        self.subwords = sentencepiece.SentencePieceProcessor(model_file=str(subwords))
        self.text = {(part, side): lines_of(next(Path(folder).glob(f"{part}.{lang}*")))
                     for part in ("train", "val") for side, lang in (("source", source), ("target", target))}

    def symbols(self, part, side):
        return [self.subwords.encode(line) + [self.subwords.eos_id()] for line in self.text[part, side]]

    def bleu(self, hypotheses):
        """BLEU (13a) of val, lowercased."""
        return sacrebleu.corpus_bleu(hypotheses, [self.text["val", "target"]], lowercase=True).score


def epochs(pairs, tokens, seed=1):
    """Without end: batches of pairs of like length with about `tokens` target symbols each, in random order."""
    shuffle = random.Random(seed)
    while True:
        order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0]), shuffle.random()))
        batches, batch, size = [], [], 0
        for i in order:
            batch.append(pairs[i])
            size += len(pairs[i][1])
            if size >= tokens:
                batches.append(batch)
                batch, size = [], 0
        if batch:
            batches.append(batch)
        shuffle.shuffle(batches)
        yield from batches


def arguments(every_help):
    """The options that the peers share; their defaults are those of jumok's run in docs/results.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--subwords", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--log", required=True)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--rate", type=float, default=0.005)
    parser.add_argument("--warm-up", type=int, default=2000)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--every", type=int, default=500, help=every_help)
    return parser
