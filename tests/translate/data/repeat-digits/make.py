#!/usr/bin/env python3
"""Trains the little language model of this folder, four digits written three times ("3 1 4 2 3 1 4 2 3 1 4 2"), and writes 50 lines it has never seen.

    python3 tests/translate/data/repeat-digits/make.py build/jumok
    python3 tests/translate/data/repeat-digits/make_golden.py

A minute of two cores. Other processors give other last bits, so both scripts belong together.
"""
import importlib.util
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SETTINGS = ["decoder.layers=2", "model.width=32", "attention.heads=2", "feed-forward.width=64", "positions.max=16", "train.max-length=15",
            "train.rate=0.004", "train.warm-up=200", "train.dropout=0.05", "train.batch-tokens=1300", "validate.every=100", "average.every=25",
            "average.last=5"]


def digit_subwords():
    """The subword model of the neighbouring folder: ten words, "▁0" to "▁9"."""
    spec = importlib.util.spec_from_file_location("make", HERE.parent / "reverse-digits" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.subwords()


def lines(blocks):
    return "".join(" ".join(f"{b:04d}" * 3) + "\n" for b in blocks)


def main(jumok):
    random.seed(1)
    blocks = random.sample(range(10000), 10000)
    (HERE / "unseen.text").write_text(lines(blocks[:50]))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "valid.text").write_text(lines(blocks[50:250]))
        (work / "train.text").write_text(lines(blocks[250:]))
        (work / "digits.spm").write_bytes(digit_subwords())
        command = [jumok, "train", "--model", work / "model", "--preset", "lm-tiny", "--source-subwords", work / "digits.spm", "--max-updates", "800",
                   "--text", work / "train.text", "--valid-text", work / "valid.text"]
        for setting in SETTINGS:
            command += ["--set", setting]
        subprocess.run(command, check=True)
        for name in ["joint.spm", "model.safetensors"]:
            shutil.copy(work / "model" / name, HERE / name)
        config = (work / "model" / "config.json").read_text().replace(str(work.resolve()) + "/", "")
        (HERE / "config.json").write_text(config)


if __name__ == "__main__":
    main(sys.argv[1])
