#!/usr/bin/env python3
"""Compares two results of `jumok bench NAME --json`, row by row.

    bench/compare.py before.json after.json

Each row's time is printed as after ÷ before (above 1: slower now), with the range that the quartiles of both allow. A row "differs" when that range
excludes 1, which is to say when the middle halves of the two runs do not overlap. That is the spread within the runs: what the machine does between them
(its clock, other programs) is not in it, so take the runs in turn, twice, before a small difference is believed.
Exit status: 0, whatever the rows say; 2 when the files cannot be compared.
"""
import json
import sys


def fail(message):
    sys.stderr.write(f"compare.py: {message}\n")
    sys.exit(2)


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")
    try:
        rows = {}
        for row in result["rows"]:
            seconds = [row["seconds"][key] for key in ("median", "lower", "upper")]
            if not all(isinstance(s, (int, float)) and s > 0 for s in seconds):
                fail(f"{path}: row \"{row['row']}\": expected seconds above 0, found {seconds}")
            rows[row["row"]] = seconds
        machine = {key: result["machine"][key] for key in ("processor", "threads", "fma_peak_gflops")}
        return result["benchmark"], machine, result["settings"], rows
    except (KeyError, TypeError) as error:
        fail(f"{path}: expected what jumok bench --json writes, found no {error}")


def compare(before, after):
    """(ratio, least, most, verdict) of two [median, lower quartile, upper quartile]."""
    ratio, least, most = after[0] / before[0], after[1] / before[2], after[2] / before[1]
    return ratio, least, most, "slower" if least > 1 else "faster" if most < 1 else ""


def describe_machines(before, after):
    for name, machine in (("before", before), ("after", after)):
        print(f"{name}: {machine['processor']}, {machine['threads']} thread(s), FMA peak {machine['fma_peak_gflops']:.0f} GFLOP/s")
    if (before["processor"], before["threads"]) != (after["processor"], after["threads"]):
        print("note: not the same processor and threads")
    peak = after["fma_peak_gflops"] / before["fma_peak_gflops"]
    if abs(peak - 1) > 0.05:
        print(f"note: the machine's own peak is {peak:.2f} of what it was")


def main(arguments):
    if len(arguments) != 2 or any(a.startswith("-") for a in arguments):
        sys.stderr.write(__doc__)
        sys.exit(0 if arguments in (["-h"], ["--help"]) else 2)
    (name, machine, settings, before), (other, other_machine, other_settings, after) = map(load, arguments)
    if name != other:
        fail(f"expected two results of one benchmark, found {name} and {other}")
    describe_machines(machine, other_machine)
    if {k: v for k, v in settings.items() if not isinstance(v, float)} != {k: v for k, v in other_settings.items() if not isinstance(v, float)}:
        print(f"note: settings differ: {json.dumps(settings)} and {json.dumps(other_settings)}")
    width = max((len(row) for row in before), default=3)
    print(f"{'row':<{width}} {'before, ms':>11} {'after, ms':>11} {'ratio':>7} {'quartiles':>16}")
    differ = 0
    for row, seconds in before.items():
        if row not in after:
            print(f"{row:<{width}} only before")
            continue
        ratio, least, most, verdict = compare(seconds, after[row])
        differ += verdict != ""
        print(f"{row:<{width}} {1e3 * seconds[0]:>11.4g} {1e3 * after[row][0]:>11.4g} {ratio:>7.3f} {least:>7.3f} to {most:<5.3f} {verdict}".rstrip())
    for row in after:
        if row not in before:
            print(f"{row:<{width}} only after")
    print(f"{differ} of {sum(row in after for row in before)} rows differ by more than the spread")


if __name__ == "__main__":
    main(sys.argv[1:])
