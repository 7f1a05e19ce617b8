#!/usr/bin/env python3
"""BLEU against training time of the model of `transformer-tiny` in Marian: same text, subwords, batch size, rate and dropout as jumok's run.

pip install pymarian==1.12.42 sentencepiece==0.2.0 sacrebleu==2.5.1
python3 marian_curve.py --data FOLDER --subwords MODEL/joint.spm --minutes 30 --threads 1 --log marian.jsonl [--work FOLDER]
Lines of {"update", "seconds", "bleu"}. Marian saves as it trains and is timed by its saved files; they are translated (greedy) when it has ended.
"""
import json
import multiprocessing
import tempfile
import time
from pathlib import Path

from corpus import Corpus
from corpus import arguments as shared_arguments

parser = shared_arguments("updates between saved models")
parser.add_argument("--work", default=None)
args = parser.parse_args()
work = Path(args.work or tempfile.mkdtemp())
work.mkdir(parents=True, exist_ok=True)
corpus = Corpus(args.data, args.source, args.target, args.subwords)


def write_pieces():
    """Text as pieces and a vocabulary of them: Marian then needs no SentencePiece of its own numbering."""
    for (part, side), lines in corpus.text.items():
        (work / f"{part}.{side}").write_text("".join(" ".join(corpus.subwords.encode(line, out_type=str)) + "\n" for line in lines), encoding="utf-8")
    special = ["</s>", "<unk>"]
    pieces = special + [p for p in map(corpus.subwords.id_to_piece, range(corpus.subwords.vocab_size())) if p not in special]
    (work / "vocabulary.yml").write_text("".join(f"{json.dumps(p, ensure_ascii=False)}: {i}\n" for i, p in enumerate(pieces)), encoding="utf-8")


def train():
    from pymarian import Trainer
    model = {"type": "transformer", "dim-emb": 128, "enc-depth": 4, "dec-depth": 4, "transformer-heads": 4, "transformer-dim-ffn": 256,
             "transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n", "transformer-postprocess-emb": "d",
             "transformer-dropout": args.dropout, "tied-embeddings-all": True}
    learning = {"label-smoothing": 0.1, "learn-rate": args.rate, "lr-warmup": args.warm_up, "lr-decay-inv-sqrt": args.warm_up,
                "optimizer-params": [0.9, 0.98, 1e-9], "clip-norm": 1, "cost-type": "ce-mean-words", "seed": 1}
    batches = {"mini-batch": 1000, "mini-batch-words": args.batch_tokens, "maxi-batch": 1000, "max-length": 100, "after": "1000000u"}
    run = {"model": work / "model.npz", "train-sets": [work / "train.source", work / "train.target"], "vocabs": [work / "vocabulary.yml"] * 2,
           "cpu-threads": args.threads, "workspace": 2000, "save-freq": f"{args.every}u", "disp-freq": "100u", "log": work / "train.log", "quiet": True}
    Trainer(arguments({**model, **learning, **batches, **run})).train()


def arguments(options):
    def text(value):
        return "" if value is True else " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(f"--{name} {text(value)}".rstrip() for name, value in options.items())


def bleu(model):
    from pymarian import Translator
    translator = Translator(arguments({"models": model, "vocabs": [work / "vocabulary.yml"] * 2, "cpu-threads": args.threads, "beam-size": 1,
                                       "mini-batch": 64, "maxi-batch": 100, "quiet": True}))
    pieces = translator.translate((work / "val.source").read_text(encoding="utf-8")).splitlines()
    return corpus.bleu([line.replace(" ", "").replace("▁", " ").strip() for line in pieces])


write_pieces()
begin = time.time()
process = multiprocessing.Process(target=train)
process.start()
saved = {}
while process.is_alive() and time.time() < begin + 60 * args.minutes:
    time.sleep(1)
    for path in work.glob("model.iter*.npz"):
        saved.setdefault(path, path.stat().st_mtime - begin)
process.terminate()
process.join()
with open(args.log, "w", encoding="utf-8") as log:
    for path, seconds in sorted(saved.items(), key=lambda item: item[1]):
        print(json.dumps({"update": int(path.stem.removeprefix("model.iter")), "seconds": round(seconds, 1), "bleu": bleu(path)}), file=log, flush=True)
