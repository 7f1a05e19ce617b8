"""The sentences that the PyTorch peers train on: of the lengths of `jumok bench train`, random symbols."""
import torch


def sub_batches(batch_tokens, vocabulary, parts=4):
    """Sentences of lengths evenly from 7 to 22 plus the end symbol, as many as make `batch_tokens`, sorted into sub-batches of like length as a
    toolkit would do it. A list of (ids [sentences, longest], padded with 0; lengths), and the number of symbols that are no padding."""
    lengths = []
    while sum(n + 1 for n in lengths) < batch_tokens:
        lengths.append(int(torch.randint(7, 23, ()).item()))
    lengths.sort()
    batches = []
    for part in range(parts):
        chunk = lengths[part * len(lengths) // parts : (part + 1) * len(lengths) // parts]
        ids = torch.zeros(len(chunk), max(chunk) + 1, dtype=torch.long)
        for row, n in enumerate(chunk):
            ids[row, : n + 1] = torch.randint(3, vocabulary, (n + 1,))
        batches.append((ids, torch.tensor([n + 1 for n in chunk])))
    return batches, sum(n + 1 for n in lengths)
