#!/usr/bin/env python3
"""BLEU against training time of the model of `transformer-tiny` in plain PyTorch: same text, subwords, batch size, rate and dropout as jumok's run.

pip install torch==2.15.0 sentencepiece==0.2.0 sacrebleu==2.5.1
python3 pytorch_curve.py --data FOLDER --subwords MODEL/joint.spm --minutes 30 --threads 1 --log pytorch.jsonl
Lines of {"update", "seconds", "tokens", "bleu", "bleu_averaged"}; the clock stands still while it validates (greedy, no cache).
"""
import collections
import copy
import json
import math
import time

import torch
from torch import nn

from corpus import Corpus, arguments, epochs

parser = arguments("updates between validations")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(1)
LAYERS, WIDTH, HEADS, FEED_FORWARD = 4, 128, 4, 256
corpus = Corpus(args.data, args.source, args.target, args.subwords)
VOCABULARY, END = corpus.subwords.vocab_size(), corpus.subwords.eos_id()
PADDING, BEGIN = VOCABULARY, corpus.subwords.bos_id()


def sinusoids(length):
    place = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
    return torch.stack([place.sin(), place.cos()], 2).reshape(length, WIDTH)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY + 1, WIDTH, padding_idx=PADDING)
        nn.init.normal_(self.embedding.weight, std=WIDTH**-0.5)
        self.register_buffer("positions", sinusoids(512))
        self.dropout = nn.Dropout(args.dropout)
        self.transformer = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, FEED_FORWARD, dropout=args.dropout, batch_first=True, norm_first=True)
        for module in self.transformer.modules():   # jumok's attention weights are not dropped
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * WIDTH**0.5 + self.positions[: ids.shape[1]])

    def encode(self, source):
        return self.transformer.encoder(self.embed(source), src_key_padding_mask=source == PADDING)

    def decode(self, target, memory, source):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.transformer.decoder(self.embed(target), memory, tgt_mask=mask, tgt_is_causal=True, memory_key_padding_mask=source == PADDING)

    def logits(self, hidden):
        return hidden @ self.embedding.weight[:VOCABULARY].T


def padded(rows):
    ids = torch.full((len(rows), max(map(len, rows))), PADDING)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    return ids


@torch.no_grad()
def greedy(model, sources):
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    found = [None] * len(sources)
    for begin in range(0, len(order), 64):
        rows = order[begin : begin + 64]
        source = padded([sources[i] for i in rows])
        memory = model.encode(source)
        target, done = torch.full((len(rows), 1), BEGIN), torch.zeros(len(rows), dtype=torch.bool)
        for _ in range(60):
            next_ids = model.logits(model.decode(target, memory, source)[:, -1]).argmax(1)
            target = torch.cat([target, next_ids.masked_fill(done, END).unsqueeze(1)], 1)
            done |= next_ids == END
            if done.all():
                break
        for i, ids in zip(rows, target[:, 1:].tolist()):
            found[i] = corpus.subwords.decode(ids[: ids.index(END)] if END in ids else ids)
    return found


def bleu(model):
    model.eval()
    score = corpus.bleu(greedy(model, valid))
    model.train()
    return score


def averaged(snapshots):
    model = Model()
    model.load_state_dict({name: sum(s[name] for s in snapshots) / len(snapshots) for name in snapshots[0]})
    return model


valid = corpus.symbols("val", "source")
pairs = list(zip(corpus.symbols("train", "source"), corpus.symbols("train", "target")))
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=args.rate, betas=(0.9, 0.98), eps=1e-9, fused=True)
loss_of = nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=0.1, reduction="sum")
snapshots = collections.deque(maxlen=10)
seconds, tokens, begin = 0.0, 0, time.perf_counter()
with open(args.log, "w", encoding="utf-8") as log:
    for update, batch in enumerate(epochs(pairs, args.batch_tokens), 1):
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(update / args.warm_up, math.sqrt(args.warm_up / update))
        source = padded([s for s, _ in batch])
        goal = padded([t for _, t in batch])
        given = torch.cat([torch.full((len(batch), 1), BEGIN), goal[:, :-1].masked_fill(goal[:, :-1] == END, PADDING)], 1)
        count = sum(len(t) for _, t in batch)
        optimizer.zero_grad()
        hidden = model.decode(given, model.encode(source), source)
        (loss_of(model.logits(hidden).reshape(-1, VOCABULARY), goal.reshape(-1)) / count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += count
        if update % 200 == 0:
            snapshots.append(copy.deepcopy(model.state_dict()))
        if update % args.every == 0:
            seconds += time.perf_counter() - begin
            line = {"update": update, "seconds": round(seconds, 1), "tokens": tokens, "bleu": bleu(model), "bleu_averaged": bleu(averaged(snapshots or [model.state_dict()]))}
            print(json.dumps(line), file=log, flush=True)
            if seconds > 60 * args.minutes:
                break
            begin = time.perf_counter()
