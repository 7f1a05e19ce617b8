#!/usr/bin/env python3
"""Writes data/onnx_recurrent.txt from the node tests of the onnx package (checked in: from version 1.23.2).

    pip install onnx && python3 -W ignore tests/nn/make_onnx_recurrent.py > tests/nn/data/onnx_recurrent.txt

One line a matrix: case/name, rows, columns, numbers; leading axes are folded into rows. CASE/shape is one row: gates (1 RNN, 3 GRU, 4 LSTM),
directions, reversed, batch first, time steps, batch, hidden size.
"""
import onnx
from onnx.backend.test.case.node import collect_testcases

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def show(name, array):
    matrix = array.reshape(-1, array.shape[-1])
    print(name, *matrix.shape, *(f"{v:.9g}" for v in matrix.reshape(-1)))


def write(name, node, inputs, outputs):
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    direction = attributes.get("direction", b"forward")
    batch_first = attributes.get("layout", 0)
    steps, batch = inputs[0].shape[:2][:: -1 if batch_first else 1]
    shape = [GATES[node.op_type], inputs[1].shape[0], direction == b"reverse", batch_first, steps, batch, attributes["hidden_size"]]
    print(f"{name}/shape 1 {len(shape)}", *map(int, shape))
    for names, arrays in ((node.input, inputs), (node.output, outputs)):
        for key, array in zip([n for n in names if n], arrays):
            show(f"{name}/{key}", array)


print(f"# Operator tests RNN, GRU and LSTM of ONNX {onnx.__version__}: Copyright (c) ONNX Project Contributors, Apache License 2.0.")
print("# Made by make_onnx_recurrent.py.")
for case in collect_testcases(None):
    node = case.model.graph.node[0] if case.model else None
    if node is not None and len(case.model.graph.node) == 1 and node.op_type in GATES:
        write(case.name.removeprefix("test_"), node, *case.data_sets[0])
