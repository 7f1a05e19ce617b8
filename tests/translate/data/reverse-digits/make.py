#!/usr/bin/env python3
"""Trains the little model of this folder, lines of digits turned round ("3 1 4" -> "4 1 3"), and writes 50 lines it has never seen.

    python3 tests/translate/data/reverse-digits/make.py build/jumok
    python3 tests/translate/data/reverse-digits/make_golden.py

Two to five minutes of two cores. Other processors give other last bits, so both scripts belong together.
"""
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SETTINGS = ["encoder.layers=2", "decoder.layers=2", "model.width=32", "attention.heads=2", "feed-forward.width=64", "positions.max=16",
            "train.max-length=15", "train.rate=0.004", "train.warm-up=400", "train.dropout=0.05", "train.label-smoothing=0.05",
            "train.batch-tokens=1500", "validate.every=250", "validate.metric=loss", "average.every=50", "average.last=5"]


def field(number, value):
    """One field of a protocol buffer: bytes, a float or an unsigned integer below 128."""
    if isinstance(value, bytes):
        return bytes([number << 3 | 2, len(value)]) + value
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    return bytes([number << 3, value])


def subwords():
    """A SentencePiece model (sentencepiece_model.proto) of ten words, "▁0" to "▁9", without normalisation: 0.3 kB instead of 240."""
    unknown, control, normal = 2, 3, 1
    pieces = [("<unk>", 0.0, unknown), ("<s>", 0.0, control), ("</s>", 0.0, control)] + [(f"▁{d}", -2.3, normal) for d in range(10)]
    model = b"".join(field(1, field(1, p.encode()) + field(2, score) + field(3, kind)) for p, score, kind in pieces)
    trainer = field(3, 3)  # model_type = WORD
    normalizer = field(1, b"identity") + field(3, 1) + field(4, 1) + field(5, 1)  # dummy prefix, no extra white space, "▁" for spaces
    return model + field(2, trainer) + field(3, normalizer)


def lines(count, lengths, seen):
    while count:
        line = " ".join(random.choices("0123456789", k=random.choice(lengths)))
        if line not in seen:
            seen.add(line)
            count -= 1
            yield line


def write(path, sources):
    path.with_suffix(".source").write_text("".join(s + "\n" for s in sources))
    path.with_suffix(".target").write_text("".join(s[::-1] + "\n" for s in sources))


def main(jumok):
    random.seed(1)
    seen = set()
    unseen, valid = list(lines(50, range(3, 10), seen)), list(lines(200, range(3, 10), seen))
    train = list("0123456789") + list(lines(16000, range(2, 11), seen))
    write(HERE / "unseen", unseen)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        write(work / "train", train)
        write(work / "valid", valid)
        (work / "digits.spm").write_bytes(subwords())
        command = [jumok, "train", "--model", work / "model", "--preset", "transformer-tiny", "--source-subwords", work / "digits.spm",
                   "--max-updates", "2000"]
        for name in ["train", "valid"]:
            prefix = "--valid-" if name == "valid" else "--"
            for side in ["source", "target"]:
                command += [prefix + side, work / f"{name}.{side}"]
        for setting in SETTINGS:
            command += ["--set", setting]
        subprocess.run(command, check=True)
        for name in ["joint.spm", "model.safetensors"]:
            shutil.copy(work / "model" / name, HERE / name)
        config = (work / "model" / "config.json").read_text().replace(str(work.resolve()) + "/", "")
        (HERE / "config.json").write_text(config)


if __name__ == "__main__":
    main(sys.argv[1])
