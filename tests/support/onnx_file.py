"""Writes ONNX files, which are protocol buffers (ModelProto), without any library."""

import struct

FLOAT, INT64 = 1, 7


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    """AttributeProto: an int, a float, a text or a list of ints."""
    if isinstance(value, float):
        content, kind = varint(2 << 3 | 5) + struct.pack("<f", value), 1
    elif isinstance(value, int):
        content, kind = field(3, value), 2
    elif isinstance(value, str):
        content, kind = field(4, value), 3
    else:
        content, kind = b"".join(field(8, each) for each in value), 7
    return field(1, name) + content + field(20, kind)


def node(kind, inputs, output, **attributes):
    out = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind)
    return out + b"".join(field(5, attribute(name, value)) for name, value in attributes.items())


def tensor(name, kind, dims, raw):
    return b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(8, name) + field(9, raw)


def value_info(name, kind, dims):
    shape = b"".join(field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def model(nodes, constants, inputs, output, meta):
    graph = b"".join(field(1, each) for each in nodes) + field(2, "graph") + b"".join(field(5, each) for each in constants)
    graph += b"".join(field(11, value_info(*each)) for each in inputs) + field(12, value_info(*output))
    out = field(1, 8) + field(8, field(1, "") + field(2, 13)) + field(7, graph)
    return out + b"".join(field(14, field(1, key) + field(2, value)) for key, value in meta.items())
