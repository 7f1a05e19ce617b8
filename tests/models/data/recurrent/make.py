#!/usr/bin/env python3
"""Little recurrent encoder-decoders with random parameters, and their logits for two pairs, computed by PyTorch in double precision.

    python3 tests/models/data/recurrent/make.py

Writes NAME.safetensors (parameters, with their values in f32) and golden.json. The models are written out here from Sutskever 2014, Cho 2014,
Bahdanau 2015 and Luong 2015, as docs/model-format.md tells it, one sentence and one step at a time; nothing of jumok is used but the names of its
parameters and settings.
"""
import json
import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
VOCABULARY, WIDTH = 10, 8
START, END = 1, 2
PAIRS = [([3, 4, 5, 6, 7, 8, 9], [9, 4, 4]), ([8, 3], [5, 6, 7, 8, 3])]
GATES = {"gru": "rzn", "lstm": "ifgo"}

BAHDANAU = {"rnn.cell": "gru", "rnn.reset-after": True, "rnn.residual": True, "encoder.layers": 1, "encoder.width": 16, "encoder.bidirectional": True,
            "encoder.reversed": False, "decoder.layers": 1, "model.width": WIDTH, "decoder.first-state": "bridge", "attention.score": "additive",
            "attention.place": "inside", "attention.window": "global", "attention.half-width": 10, "attention.width": WIDTH,
            "decoder.input-feeding": False, "decoder.readout": "maxout", "embedding.tying": "all"}
LUONG = BAHDANAU | {"rnn.cell": "lstm", "encoder.width": WIDTH, "decoder.first-state": "copy", "attention.score": "general", "attention.place": "after",
                    "decoder.readout": "tanh"}
SUTSKEVER = LUONG | {"attention.score": "none-initial", "encoder.bidirectional": False, "encoder.reversed": True, "decoder.readout": "plain"}
MODELS = {
    "bahdanau": BAHDANAU,
    # Two layers tell which one asks; widths of their own tell the matrices apart.
    "bahdanau-deep": BAHDANAU | {"rnn.reset-after": False, "encoder.layers": 2, "decoder.layers": 2, "encoder.width": 6, "attention.width": 5,
                                 "decoder.readout": "linear"},
    "luong-feeding": LUONG | {"encoder.layers": 2, "decoder.layers": 2, "decoder.input-feeding": True},
    "cho": SUTSKEVER | {"rnn.cell": "gru", "rnn.reset-after": False, "encoder.reversed": False, "decoder.first-state": "bridge",
                        "attention.score": "none-every-step", "decoder.readout": "maxout"},
    "sutskever": SUTSKEVER,
    "local-p": LUONG | {"attention.window": "local-p", "attention.half-width": 2},
    "local-p-bridge": LUONG | {"attention.window": "local-p", "attention.half-width": 3, "encoder.width": 6, "decoder.first-state": "bridge",
                               "embedding.tying": "none"},
}


def parameters(s):
    w = {}

    def add(name, *shape, spread=0.6):
        w[name] = spread * torch.randn(*shape)

    def add_linear(name, out, inside, bias=True):
        add(name + ".weight", out, inside)
        if bias:
            add(name + ".bias", out)

    def add_layer(name, width, inside):
        for gate in GATES[s["rnn.cell"]]:
            add_linear(f"{name}.input.{gate}", width, inside)
            add_linear(f"{name}.state.{gate}", width, width, bias=s["rnn.cell"] == "gru" and s["rnn.reset-after"])

    d, m, score = s["model.width"], s["encoder.width"], s["attention.score"]
    gates = len(GATES[s["rnn.cell"]])
    directions = ["forward", "backward"] if s["encoder.bidirectional"] else ["forward"]
    one = m // len(directions)
    names = ["embedding"] if s["embedding.tying"] == "all" else ["encoder.embedding", "decoder.embedding", "output"]
    for name in names:
        add(name + ".weight", VOCABULARY, d, spread=1)
    for layer in range(s["encoder.layers"]):
        for direction in directions:
            add_layer(f"encoder.layers.{layer}.{direction}", one, m if layer else d)
    for layer in range(s["decoder.layers"]):
        add_layer(f"decoder.layers.{layer}", d, d)
    if score == "none-every-step":
        add_linear("decoder.summary", d, one)
    if s["decoder.first-state"] == "bridge":
        for layer in range(s["decoder.layers"]):
            for part in "hc" if s["rnn.cell"] == "lstm" else "h":
                add_linear(f"decoder.first_state.{layer}.{part}", d, d if score == "none-every-step" else one)
    context = {"none-initial": 0, "none-every-step": d}.get(score, m)
    if score == "none-every-step" or s["attention.place"] == "inside":
        add_linear("decoder.context", gates * d, context, bias=False)
    if s["decoder.input-feeding"]:
        add_linear("decoder.feed", gates * d, d, bias=False)
    if s["decoder.readout"] != "plain":
        add_linear("decoder.readout", 2 * d if s["decoder.readout"] == "maxout" else d, (1 if s["decoder.readout"] == "tanh" else 2) * d + context)
    if score == "additive":
        add_linear("decoder.attention.query", s["attention.width"], d, bias=False)
        add_linear("decoder.attention.key", s["attention.width"], m, bias=False)
        add("decoder.attention.score", s["attention.width"])
    if score == "general":
        add_linear("decoder.attention.key", d, m, bias=False)
    if s["attention.window"] == "local-p":
        add_linear("decoder.attention.centre.hidden", d, d, bias=False)
        add_linear("decoder.attention.centre.score", 1, d, bias=False)
    return w


class Model:
    def __init__(self, w, s):
        self.w = {name: tensor.double() for name, tensor in w.items()}
        self.s = s

    def linear(self, name, x):
        return self.w[name + ".weight"] @ x + self.w.get(name + ".bias", 0)

    def step(self, name, x, state, more=0.0):
        """(h, c) after (h, c); c of the LSTM only. more [G, D] joins the input's half of the gates."""
        h, c = state
        gates = GATES[self.s["rnn.cell"]]
        x = torch.stack([self.linear(f"{name}.input.{g}", x) for g in gates]) + more
        u = torch.stack([self.linear(f"{name}.state.{g}", h) for g in gates])
        if self.s["rnn.cell"] == "lstm":
            i, f, o = (torch.sigmoid(x[k] + u[k]) for k in (0, 1, 3))
            c = f * c + i * torch.tanh(x[2] + u[2])
            return o * torch.tanh(c), c
        r, z = torch.sigmoid(x[0] + u[0]), torch.sigmoid(x[1] + u[1])
        n = torch.tanh(x[2] + (r * u[2] if self.s["rnn.reset-after"] else self.linear(f"{name}.state.n", r * h)))
        return (1 - z) * n + z * h, None

    def read(self, name, rows, backward):
        """The states at the rows' own places, and the last (h, c)."""
        width = len(self.w[f"{name}.state.{GATES[self.s['rnn.cell']][0]}.weight"])
        state, states = (torch.zeros(width).double(),) * 2, [None] * len(rows)
        for j in reversed(range(len(rows))) if backward else range(len(rows)):
            state = self.step(name, rows[j], state)
            states[j] = state[0]
        return torch.stack(states), state

    def encode(self, source):
        """h_j, the last states layer by layer, and the state that has read everything."""
        rows, last = self.w["embedding.weight" if self.s["embedding.tying"] == "all" else "encoder.embedding.weight"][source], []
        for layer in range(self.s["encoder.layers"]):
            name = f"encoder.layers.{layer}"
            runs = [self.read(name + ".forward", rows, self.s["encoder.reversed"])]
            if self.s["encoder.bidirectional"]:
                runs.append(self.read(name + ".backward", rows, True))
            states = torch.cat([states for states, _ in runs], 1)
            rows = states + rows if layer and self.s["rnn.residual"] else states
            last.append([torch.cat(parts) if parts[0] is not None else None for parts in zip(*(state for _, state in runs))])
        return rows, last, runs[-1][1][0]

    def first_states(self, last, summary):
        if self.s["decoder.first-state"] == "copy":  # Sutskever 2014, Luong 2015
            return [tuple(state) for state in last]
        parts = ["h", "c"] if self.s["rnn.cell"] == "lstm" else ["h"]  # Bahdanau 2015, A.2.2
        states = [[torch.tanh(self.linear(f"decoder.first_state.{n}.{p}", summary)) for p in parts] for n in range(self.s["decoder.layers"])]
        return [(state[0], state[-1]) for state in states]

    def attend(self, q, keys):
        name = "decoder.attention."
        if self.s["attention.score"] == "additive":  # Bahdanau 2015, A.1.2
            scores = torch.stack([self.w[name + "score"] @ torch.tanh(self.linear(name + "query", q) + self.linear(name + "key", h)) for h in keys])
        else:  # Luong 2015, eq. 8, general
            scores = torch.stack([q @ self.linear(name + "key", h) for h in keys])
        if self.s["attention.window"] == "global":
            return scores.softmax(0) @ keys
        # Luong 2015, eq. 9 and 10: places from 0, the softmax over those of the window.
        reach, places = self.s["attention.half-width"], torch.arange(len(keys)).double()
        centre = len(keys) * torch.sigmoid(self.linear(name + "centre.score", torch.tanh(self.linear(name + "centre.hidden", q))))
        weights = scores.masked_fill((places - centre).abs() > reach, -torch.inf).softmax(0)
        return (weights * torch.exp(-((places - centre) ** 2) / (2 * (reach / 2) ** 2))) @ keys

    def readout(self, h, e, c):
        kind = self.s["decoder.readout"]
        if kind == "plain":
            return h
        if kind == "tanh":  # Luong 2015, eq. 5
            return torch.tanh(self.linear("decoder.readout", torch.cat([h, c])))
        t = self.linear("decoder.readout", torch.cat([h, e, c]))
        return t if kind == "linear" else t.reshape(-1, 2).amax(1)  # Bahdanau 2015, A.2.2

    def logits(self, source, target):
        """[T, V] for the symbols of `target`, the first of which is the start symbol."""
        s = self.s
        keys, last, summary = self.encode(source)
        every_step, inside = s["attention.score"] == "none-every-step", s["attention.place"] == "inside"
        attends = not s["attention.score"].startswith("none")
        if every_step:
            summary = torch.tanh(self.linear("decoder.summary", summary))
        states, c = self.first_states(last, summary), summary
        embedding, output = (self.w["embedding.weight" if s["embedding.tying"] == "all" else name + ".weight"] for name in ["decoder.embedding", "output"])
        fed, rows = torch.zeros(s["model.width"]).double(), []
        for e in embedding[target]:
            if attends and inside:
                c = self.attend(states[0][0], keys)
            more = torch.zeros(len(GATES[s["rnn.cell"]]) * s["model.width"]).double()
            if every_step or (attends and inside):
                more = more + self.w["decoder.context.weight"] @ c
            if s["decoder.input-feeding"]:
                more = more + self.w["decoder.feed.weight"] @ fed
            x = e
            for layer in range(s["decoder.layers"]):
                states[layer] = self.step(f"decoder.layers.{layer}", x, states[layer], more.reshape(-1, s["model.width"]) if layer == 0 else 0)
                x = states[layer][0] + x if layer and s["rnn.residual"] else states[layer][0]
            if attends and not inside:
                c = self.attend(x, keys)
            fed = self.readout(x, e, c)
            rows.append(output @ fed)
        return torch.stack(rows)


def main():
    torch.manual_seed(1)
    golden = {}
    for name, settings in MODELS.items():
        w = parameters(settings)
        save_file(w, HERE / f"{name}.safetensors")
        model = Model(w, settings)
        golden[name] = [{"source": source, "target": target,
                         "logits": [[round(v, 7) for v in row] for row in model.logits(source + [END], [START] + target).tolist()]}
                        for source, target in PAIRS]
    (HERE / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
