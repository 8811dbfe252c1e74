"""arrow_samples.py: one hand-made, well-formed sample of each Arrow layout: three rows after one that is sliced off."""

import numpy as np

from arrow_structs import Column, Field


def i8(*values):
    return np.array(values, "i1")


def i16(*values):
    return np.array(values, "i2")


def i32(*values):
    return np.array(values, "i4")


def i64(*values):
    return np.array(values, "i8")


def bits(mask):
    return np.array([mask], "u1")


def prefix(characters):
    return int.from_bytes(characters[:4], "little")


def nothing():
    return Field("n", "x"), Column(3, [], offset=1, null_count=3)


def flags():
    return Field("b", "x"), Column(3, [bits(0b1010), bits(0b0110)], offset=1)


def numbers():
    return Field("i", "x"), Column(3, [bits(0b0110), i32(1, 2, 3, 4)], offset=1, null_count=1)


def text():
    return Field("u", "x"), Column(3, [bits(0b1101), i32(0, 1, 3, 3, 6), b"abbddd"], offset=1, null_count=1)


def large_text():
    return Field("U", "x"), Column(3, [None, i64(0, 1, 3, 3, 6), b"abbddd"], offset=1, null_count=0)


def views():
    """Row 0 is short, row 1 is null, row 2 is in data buffer 1, row 3 in data buffer 0."""
    long, longer = b"thirteen byte", b"fourteen bytes"
    items = i32(1, 120, 0, 0, -7, -7, -7, -7, 13, prefix(long), 1, 2, 14, prefix(longer), 0, 0)
    buffers = [bits(0b1101), items, longer, b".." + long, i64(14, 15)]
    return Field("vu", "x"), Column(3, buffers, offset=1)


def lists():
    field = Field("+l", "x", [Field("i", "item")])
    return field, Column(3, [bits(0b1111), i32(0, 1, 1, 3, 4)], [Column(4, [None, i32(1, 2, 3, 4)])], offset=1)


def large_lists():
    field = Field("+L", "x", [Field("b", "item")])
    return field, Column(3, [None, i64(0, 1, 1, 3, 4)], [Column(4, [None, bits(0b1111)])], offset=1)


def list_views():
    field = Field("+vl", "x", [Field("s", "item")])
    return field, Column(3, [None, i32(9, 2, 0, 4), i32(9, 2, 4, 0)], [Column(4, [None, i16(1, 2, 3, 4)])], offset=1)


def pairs():
    field = Field("+w:2", "x", [Field("c", "item")])
    return field, Column(3, [bits(0b0110)], [Column(8, [None, b"abcdefgh"])], offset=1)


def records():
    (a, rows_a), (b, rows_b) = numbers(), text()
    rows_a.struct.length = rows_b.struct.length = 4
    rows_a.struct.offset = rows_b.struct.offset = 0
    rows_a.struct.null_count = rows_b.struct.null_count = -1
    a.struct.name, b.struct.name = b"a", b"b"
    return Field("+s", "x", [a, b]), Column(3, [bits(0b1110)], [rows_a, rows_b], offset=1, null_count=0)


def maps():
    entries = Field("+s", "entries", [Field("u", "key", flags=0), Field("i", "value")], flags=0)
    rows = Column(2, [None], [Column(2, [None, i32(0, 1, 2), b"ab"]), Column(2, [None, i32(1, 2)])])
    return Field("+m", "x", [entries]), Column(3, [None, i32(0, 1, 1, 2, 2)], [rows], offset=1)


def sparse_unions():
    rows = [Column(4, [None, i32(1, 2, 3, 4)]), Column(4, [None, i32(0, 1, 2, 3, 4), b"abcd"])]
    field = Field("+us:5,2", "x", [Field("i", "a"), Field("u", "b")])
    return field, Column(3, [i8(99, 2, 5, 2)], rows, offset=1, null_count=0)


def dense_unions():
    rows = [Column(1, [None, i32(1)]), Column(2, [None, i32(0, 1, 2), b"ab"])]
    field = Field("+ud:5,2", "x", [Field("i", "a"), Field("u", "b")])
    return field, Column(3, [i8(99, 2, 5, 2), i32(99, 0, 0, 1)], rows, offset=1, null_count=0)


def runs():
    rows = [Column(2, [None, i16(2, 4)]), Column(2, [None, i32(0, 1, 2), b"ab"])]
    field = Field("+r", "x", [Field("s", "run_ends", flags=0), Field("u", "values")])
    return field, Column(3, [], rows, offset=1, null_count=0)


def coded():
    words = Field("u"), Column(2, [None, i32(0, 1, 2), b"ab"])
    return Field("c", "x", dictionary=words[0]), Column(3, [bits(0b1011), i8(99, 1, 7, 0)], (), words[1], offset=1)


def coded_twice():
    values = coded()
    keys = np.array([0, 2, 1, 0], "u4")
    return Field("I", "x", dictionary=values[0]), Column(3, [None, keys], (), values[1], offset=1)


SAMPLES = (
    nothing, flags, numbers, text, large_text, views, lists, large_lists, list_views, pairs, records, maps,
    sparse_unions, dense_unions, runs, coded, coded_twice,
)  # fmt: skip


def as_table(make):
    """A table of three rows whose only column is the sample."""
    field, column = make()
    return Field("+s", "", [field], flags=0), Column(3, [None], [column], null_count=0)
