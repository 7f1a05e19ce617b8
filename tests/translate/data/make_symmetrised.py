#!/usr/bin/env python3
"""symmetrised.json: random pairs of directed word alignments and what becomes of them.

Written from the pseudo-code of Koehn et al. 2005 (and https://www.statmt.org/moses/?n=FactoredTraining.AlignWords) on a matrix of booleans, points
visited target by target, source by source; nothing of jumok is used. Links are [source, target].
"""
import json
import pathlib
import random

NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def matrix(links, targets, sources):
    return [[(s, t) in links for s in range(sources)] for t in range(targets)]


def grow_diag_final_and(forward, backward, targets, sources):
    e2f, f2e = matrix(forward, targets, sources), matrix(backward, targets, sources)
    aligned = [[e2f[t][s] and f2e[t][s] for s in range(sources)] for t in range(targets)]
    target_free = lambda t: not any(aligned[t])  # noqa: E731
    source_free = lambda s: not any(row[s] for row in aligned)  # noqa: E731

    changed = True
    while changed:  # GROW-DIAG
        changed = False
        for t in range(targets):
            for s in range(sources):
                if not aligned[t][s]:
                    continue
                for dt, ds in NEIGHBOURS:
                    nt, ns = t + dt, s + ds
                    if not (0 <= nt < targets and 0 <= ns < sources):
                        continue
                    if (target_free(nt) or source_free(ns)) and (e2f[nt][ns] or f2e[nt][ns]):
                        aligned[nt][ns] = changed = True
    for direction in (e2f, f2e):  # FINAL-AND
        for t in range(targets):
            for s in range(sources):
                if direction[t][s] and target_free(t) and source_free(s):
                    aligned[t][s] = True
    return [(s, t) for t in range(targets) for s in range(sources) if aligned[t][s]]


def directed(rng, words, others, several):
    """Each word linked near the diagonal, now and then to none, or to several."""
    links = set()
    for w in range(words):
        for _ in range(rng.choice([0, 1, 2, 3]) if several else rng.choice([0, 1, 1, 1, 1, 1])):
            at = round(w * others / max(words, 1)) + rng.choice([-3, -1, -1, 0, 0, 0, 0, 1, 1, 2])
            if 0 <= at < others:
                links.add((w, at))
    return links


def main():
    rng = random.Random(7)
    cases = []
    for number in range(120):
        sources, targets = rng.randint(0, 12), rng.randint(0, 12)
        several = number % 3 == 2
        forward = {(s, t) for t, s in directed(rng, targets, sources, several)}
        backward = directed(rng, sources, targets, several)
        cases.append({
            "forward": sorted(forward),
            "backward": sorted(backward),
            "intersection": sorted(forward & backward),
            "union": sorted(forward | backward),
            "grow-diag-final-and": sorted(grow_diag_final_and(forward, backward, targets, sources)),
        })
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (pathlib.Path(__file__).parent / "symmetrised.json").write_text("[\n" + lines + "\n]\n")


main()
