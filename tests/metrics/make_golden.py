#!/usr/bin/env python3
"""Makes data/golden.json: hostile sentence pairs and what sacreBLEU says of them. Needs: pip install sacrebleu==2.6.0 regex

The random lines come from a fixed seed; the code points are all of Unicode 15.0 or older, so that every Unicode table in use agrees on them.
Usage: make_golden.py > data/golden.json
"""
import json
import random

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.bleu import _get_tokenizer

TOKENIZERS = ["13a", "char", "none", "intl", "zh"]

WORDS = """the cat sat on mat it's well-known pre-war 10-year 3-0 U.S. e.g., 1,000.50 .5 5. 3,a a,3 3. ,7 1990s- -5 $5.00 50% (hi) [x] {y} <b> "q"
 'q' &quot;q&quot; &amp; &amp;lt; &amp;quot; &lt;b&gt; &apos; <skipped> x<skipped>y http://a.b/c?d=e&f a_b ^ ~ ` | \\ @ # * + = ; : ! ? ... --
 der Straße GROSS ẞ Ǆ ǅ naïve naïve café “quoted” «oui» – — … „so“ ‘a’ ¿qué? ¡no! €5 £3 ½ ² №5 Ⅷ ⅷ ª º
 ΟΔΥΣΣΕΥΣ ΟΔΥΣΣΕΥΣ. Σ ΑΣ ΑΣ'Α ΑΣ’ Α·Σ ΣΑΣ ⓐΣ ⅧΣ ªΣ İstanbul DİYARBAKIR Iı ŒUVRE ÆTHER Привет, мир! ПРИВЕТ объём
 나는 고양이를 좋아한다. “실적 주의” 가격은 1,000원 ㈜회사 我 喜欢 猫。 我喜欢猫 １２３ ，。「」 日本語、テスト ｶﾀｶﾅ 〒 ㍿ 𠮷野 豈 ⼀ ⺀ ⊕ ≠ → ☃ ✓ ∑ ⅓
 مرحبا، بالعالم؟ ١٢٣٫٤٥ שלום־עולם हिन्दी। १२३,४५ ไทย๑๒ 🙂 👩‍👩‍👧 🇰🇷 👍🏽 ❤️ é ə̃ ‍ ​ \ufeffx a\u00adb""".split()

SPACES = [" "] * 30 + ["  ", "\t", "\u00a0", "\u3000", "\u2003", "\u200b", "\x1c", "\x1f", "\u205f", "\u1680"]


def line(rng):
    kind = rng.random()
    if kind < 0.06:
        return ""
    if kind < 0.08:
        return rng.choice([" ", "\u3000", "\t ", "."])
    glue = "" if kind < 0.15 else None
    words = [rng.choice(WORDS) for _ in range(rng.randint(1, 14))]
    out = "".join(w + (rng.choice(SPACES) if glue is None else glue) for w in words)
    return out if rng.random() < 0.3 else out.rstrip(" ")


def spoil(rng, text):
    """A hypothesis that shares much with its reference."""
    characters = list(text)
    for _ in range(rng.randint(0, 3)):
        if not characters:
            break
        i = rng.randrange(len(characters))
        action = rng.random()
        if action < 0.3:
            characters[i:i + rng.randint(1, 6)] = []
        elif action < 0.6:
            characters.insert(i, rng.choice([" ", ".", ",", "-", "1", "Σ", "&", "。", "猫"]))
        else:
            characters[i] = characters[i].swapcase()
    return "".join(characters)


def pairs(seed, count):
    rng = random.Random(seed)
    references = [line(rng) for _ in range(count)]
    hypotheses = [line(rng) if rng.random() < 0.1 else spoil(rng, r) for r in references]
    return hypotheses, references


def bleu_case(hypotheses, references, **options):
    metric = BLEU(force=True, **options)
    score = metric.corpus_score(hypotheses, [references])
    counts = score.counts if options.get("smooth_method") != "add-k" else None   # sacreBLEU adds k to the counts themselves
    return {"options": options, "score": score.score, "counts": counts, "precisions": score.precisions, "bp": score.bp, "ratio": score.ratio,
            "sys_len": score.sys_len, "ref_len": score.ref_len, "signature": str(metric.get_signature()), "text": score.format()}


def chrf_case(hypotheses, references, **options):
    metric = CHRF(**options)
    score = metric.corpus_score(hypotheses, [references])
    return {"options": options, "score": score.score, "name": score.name, "signature": str(metric.get_signature()), "text": score.format()}


def corpus(name, hypotheses, references):
    bleus = [bleu_case(hypotheses, references, tokenize=t, lowercase=lc) for t in TOKENIZERS for lc in (False, True)]
    bleus += [bleu_case(hypotheses, references, tokenize="13a", smooth_method=m, smooth_value=v)
              for m, v in (("none", None), ("floor", None), ("floor", 0.01), ("add-k", None), ("add-k", 0.5))]
    chrfs = [chrf_case(hypotheses, references, word_order=w, lowercase=lc) for w in (0, 2) for lc in (False, True)]
    chrfs.append(chrf_case(hypotheses, references, char_order=4, word_order=1, beta=3))
    return {"name": name, "hypotheses": hypotheses, "references": references, "bleu": bleus, "chrf": chrfs}


def sentence(hypothesis, reference, tokenize, method):
    metric = BLEU(tokenize=tokenize, smooth_method=method, effective_order=True, force=True)
    score = metric.sentence_score(hypothesis, [reference])
    return {"hypothesis": hypothesis, "reference": reference, "tokenize": tokenize, "smooth_method": method, "score": score.score,
            "signature": str(metric.get_signature())}


def main():
    hostile = pairs(20240607, 120)
    corpora = [corpus("hostile", *hostile)]
    for seed in range(8):   # small ones, where smoothing and empty lines decide
        corpora.append(corpus(f"small {seed}", *pairs(seed, 3)))
    corpora.append(corpus("empty hypotheses", ["", ""], ["hello there friend", "x"]))
    corpora.append(corpus("empty everything", [""], [""]))
    corpora.append(corpus("no match", ["left"], ["right"]))
    corpora.append(corpus("one word", ["left"], ["left"]))
    rng = random.Random(7)
    sentences = [sentence(h, r, rng.choice(TOKENIZERS), rng.choice(["exp", "none", "floor", "add-k"])) for h, r in zip(*hostile)]
    texts = WORDS + [line(random.Random(seed)) for seed in range(60)] + ["a-\nb c\nd", "\n", " x ", "1.\n2", ".,.,", ",,1", "1-2-3", "a.,b.1", "--1--"]
    tokens = [{"text": t, "lower": t.lower(), **{k: _get_tokenizer(k)()(t.rstrip()).split() for k in TOKENIZERS}} for t in texts]
    out = {"sacrebleu": sacrebleu.__version__, "corpora": corpora, "sentences": sentences, "tokens": tokens}
    print(json.dumps(out, indent=None, separators=(",", ":")).replace('{"name"', '\n{"name"').replace('{"hypothesis"', '\n{"hypothesis"')
          .replace('{"text"', '\n{"text"').replace('{"options"', '\n{"options"'))


if __name__ == "__main__":
    main()
