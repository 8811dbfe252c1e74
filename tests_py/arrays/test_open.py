"""open: what it maps is what NumPy loads, and each file that cannot be mapped has an error of its own."""

import inspect
import os
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gatherscatter as gs

DTYPES = st.one_of(
    hnp.scalar_dtypes(),
    hnp.byte_string_dtypes(min_len=1, max_len=5),
    st.just(np.dtype([("a", "<f4"), ("ä", ">i2", (2,))])),
)


@given(data=st.data(), version=st.sampled_from([None, (2, 0), (3, 0)]), fortran=st.booleans())
def test_npy_files_of_every_layout(data, version, fortran, tmp_path_factory):
    array = data.draw(hnp.arrays(data.draw(DTYPES), hnp.array_shapes(min_dims=0, min_side=0)))
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    layout = np.asfortranarray(array) if fortran else array
    with path.open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # versions that older NumPy cannot read
        np.lib.format.write_array(file, layout, version=version or (3, 0))
    mapped = gs.open(path)
    loaded = np.load(path)
    assert type(mapped) is np.memmap
    assert (mapped.dtype, mapped.shape) == (loaded.dtype, loaded.shape)
    if mapped.size > 0:  # np.load gives empty arrays other strides
        assert mapped.strides == loaded.strides
    assert mapped.tobytes() == loaded.tobytes()
    assert not mapped.flags.writeable


@given(
    dtype=hnp.scalar_dtypes(),
    shape=hnp.array_shapes(min_dims=0, max_side=5),
    offset=st.integers(0, 5000),
    rest=st.integers(0, 9),
)
def test_raw_files(dtype, shape, offset, rest, tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "x.bin"
    count = int(np.prod(shape, dtype=np.int64))
    content = np.random.default_rng(count).bytes(offset + count * dtype.itemsize + rest)
    path.write_bytes(content)
    expected = np.frombuffer(content, dtype, count, offset).reshape(shape)
    mapped = gs.open(path, dtype=dtype, shape=shape, offset=offset)
    assert (mapped.dtype, mapped.shape) == (dtype, shape)
    assert mapped.tobytes() == expected.tobytes()
    if rest % dtype.itemsize == 0:
        assert gs.open(path, dtype=dtype, offset=offset).shape == (count + rest // dtype.itemsize,)
    else:
        with pytest.raises(ValueError, match=r"^open: .*x\.bin' has .* which is no number of items of"):
            gs.open(path, dtype=dtype, offset=offset)


@pytest.mark.parametrize("shape", [None, 0, (2, 3)])
def test_an_offset_beyond_the_end(tmp_path, shape):
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(100))
    for offset in (101, 1000):
        text = rf"^open: offset is {offset}, but '.*x\.bin' has 100 bytes; expected 100 or less"
        with pytest.raises(ValueError, match=text):
            gs.open(path, dtype="u1", shape=shape, offset=offset)


def test_modes(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(4))
    private = gs.open(path, mode="c")
    gs.put(private, [1], 5.0)
    assert private.tolist() == [0, 5, 0, 0]
    assert np.load(path).tolist() == [0, 0, 0, 0]
    shared = gs.open(path, mode="r+")
    gs.put(shared, [2], 7.0)
    shared.flush()
    assert np.load(path).tolist() == [0, 0, 7, 0]
    with pytest.raises(ValueError, match="read-only"):
        gs.put(gs.open(path), [0], 1.0)
    raw = tmp_path / "x.bin"
    raw.write_bytes(bytes(16))
    gs.put(gs.open(raw, dtype="<u2", shape=3, offset=2, mode="r+"), [0, -1], [1, 2])
    assert np.frombuffer(raw.read_bytes(), "<u2").tolist() == [0, 1, 0, 2, 0, 0, 0, 0]


def _npy(path: Path, header: bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> Path:
    path.write_bytes(b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + data)
    return path


def test_files_that_cannot_be_mapped(tmp_path):
    def refused(words, path, error=ValueError, **arguments):
        before = path.read_bytes() if path.is_file() else None
        for mode in ("r", "r+", "c"):
            with pytest.raises(error, match=words):
                gs.open(path, mode=mode, **arguments)
        assert before is None or path.read_bytes() == before  # NumPy's mode 'r+' would make a short file longer

    text = tmp_path / "x.csv"
    text.write_text("1,2,3\n")
    refused(r"^open: '.*x\.csv' begins with b'1,2,3\\n'; an \.npy file begins with b'\\x93NUMPY'", text)
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    refused("is empty", empty)
    pickled = tmp_path / "pickle"
    pickled.write_bytes(pickle.dumps([1, 2]))
    refused("an .npy file begins with", pickled)
    objects = tmp_path / "objects.npy"
    np.save(objects, np.array([{}, None], object), allow_pickle=True)
    refused(r"^open: '.*objects\.npy' holds pickled objects of dtype object", objects)
    whole = tmp_path / "whole.npy"
    np.save(whole, np.zeros((10, 3)))
    short = tmp_path / "short.npy"
    short.write_bytes(whole.read_bytes()[:-1])
    refused(r"short\.npy' has 367 bytes, but shape \(10, 3\) of float64 from byte 128 on needs 368", short)
    refused(r"the header of '.*' cannot be read", _npy(tmp_path / "header.npy", b"{'descr': 3}"))
    refused(r"the header of '.*' cannot be read", _npy(tmp_path / "version.npy", b"", version=b"\x09\x00"))
    cut = tmp_path / "cut.npy"
    cut.write_bytes(whole.read_bytes()[:40])
    refused(r"the header of '.*' cannot be read", cut)
    refused("No such file", tmp_path / "absent.npy", FileNotFoundError)
    refused("directory", tmp_path, IsADirectoryError)
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(10))
    refused(r"raw' has 10 bytes, but shape \(3,\) of int32 from byte 0 on needs 12", raw, dtype="i4", shape=3)
    refused(r"needs 11", raw, dtype="i1", shape=(1,), offset=10)
    refused(r"has 10 bytes; expected 10 or less", raw, dtype="i1", offset=11)


def test_errors_name_the_function_of_numpy_that_does_it(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(3))
    with pytest.raises(ValueError, match=r"is a zip archive, as \.npz files are.*numpy\.load\(path\)\[key\]"):
        gs.open(tmp_path / "x.npz")
    for mode in ("w+", "w"):
        with pytest.raises(ValueError, match=rf"mode='{re.escape(mode)}'.*numpy\.lib\.format\.open_memmap"):
            gs.open(tmp_path / "new.npy", mode=mode)
    assert not (tmp_path / "new.npy").exists()


def test_arguments_that_do_not_fit(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(4))
    for words, error, arguments in [
        (r"mode='w\+'; expected 'r'", ValueError, {"mode": "w+"}),
        ("`shape` and `offset` describe a raw file", ValueError, {"shape": (2, 2)}),
        ("`shape` and `offset` describe a raw file", ValueError, {"offset": 128}),
        ("is an .npy file, which knows its dtype", ValueError, {"dtype": "f8"}),
        ("dtype object has no fixed bytes", ValueError, {"dtype": object, "offset": 128}),
        ("offset has -1; expected 0 or more", ValueError, {"dtype": "f8", "offset": -1}),
        ("offset has 1.5 of type float; expected an integer", TypeError, {"dtype": "f8", "offset": 1.5}),
        ("shape has -1; expected 0 or more", ValueError, {"dtype": "f8", "shape": (-1, 2), "offset": 128}),
        ("shape has '2' of type str", TypeError, {"dtype": "f8", "shape": ["2"], "offset": 128}),
    ]:
        with pytest.raises(error, match=f"^open: .*{words}"):
            gs.open(path, **arguments)
    assert gs.open(path, dtype="f8", offset=128).tolist() == [0, 0, 0, 0]


def test_name_and_pickle():
    assert gs.open.__module__ == "gatherscatter"
    assert pickle.loads(pickle.dumps(gs.open)) is gs.open
    assert list(inspect.signature(gs.open).parameters) == ["path", "dtype", "shape", "offset", "mode"]


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_an_empty_file_stays_empty(tmp_path, mode):
    path = tmp_path / "x"
    path.touch()
    with pytest.raises(ValueError, match="is empty; an empty file cannot be mapped"):
        gs.open(path, dtype="u1", mode=mode)
    assert path.stat().st_size == 0


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is not a regular file"):
        gs.open(tmp_path / "pipe", dtype="u1")


@pytest.mark.parametrize("text", ["{", "{'descr': '<f4', 'fortran_order': False, 'shape': (True,), }", "(" * 300])
def test_headers_that_numpy_cannot_read(tmp_path, text):
    header = text.ljust(117).encode() + b"\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64))
    with pytest.raises(ValueError, match=r"open: the header of .*x\.npy'"):
        gs.open(tmp_path / "x.npy")


@pytest.mark.parametrize("shape", [(1 << 70, 0), (1 << 62, 1 << 62, 0), (1 << 40, 1 << 40)])
def test_shapes_beyond_the_address_space(tmp_path, shape):
    (tmp_path / "x").write_bytes(bytes(8))
    with pytest.raises(ValueError, match="has more bytes than an array can have"):
        gs.open(tmp_path / "x", dtype="u1", shape=shape)
