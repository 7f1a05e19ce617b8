"""What the training peers are given: the shapes of jumok's presets, and the options they share."""
import argparse

PRESETS = {"tiny": (4, 128, 4, 256), "small": (4, 256, 4, 1024), "base": (6, 512, 8, 2048)}  # layers a side, width, heads, feed-forward


def arguments(updates):
    """Of the command line; `updates`: how many are measured unless it says otherwise."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="tiny", choices=PRESETS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--updates", type=int, default=updates)
    return parser.parse_args()
