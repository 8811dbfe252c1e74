"""Paths of tables in files: lists of files with different schemas, names that are odd, files that are encrypted."""

import base64
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs

FIRST = pa.table({"a": range(30), "b": range(100, 130)})


def write(path, table):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=10)
        return
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=10)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_files_of_different_schemas(tmp_path, kind):
    tables = {
        "one": FIRST,
        "more": FIRST.append_column("c", FIRST["a"]),
        "fewer": FIRST.select(["a"]),
        "text": FIRST.set_column(1, "b", FIRST["b"].cast(pa.string())),
        "order": FIRST.select(["b", "a"]),
        "keys": FIRST.set_column(1, "b", FIRST["b"].cast(pa.string()).dictionary_encode()),
    }
    paths = {name: tmp_path / f"{name}.{kind}" for name in tables}
    for name, table in tables.items():
        write(paths[name], table)
    for name, problem in (
        ("more", r"more\.\w+ has a column 'c', which .*one\.\w+ lacks"),
        ("fewer", r"one\.\w+ has a column 'b', which .*fewer\.\w+ lacks"),
        ("text", r"column 'b' is int64 in .*one\.\w+ and string in .*text\.\w+"),
        ("keys", r"column 'b' is int64 in .*one\.\w+ and dictionary.* in .*keys\.\w+"),
    ):
        source = [paths["one"], paths["order"], paths[name]]
        with pytest.raises(gs.errors.InvalidArgument, match=f"{problem}; give columns="):
            gs.table.gather(source, [0])
        result = gs.table.gather(source, [89, 30, 0], columns=["a"])
        assert result.to_pydict() == {"a": [29, 0, 0]}
        if name != "more":
            with pytest.raises(gs.errors.InvalidArgument, match=f"{name}.*column 'b'|column 'b' .*{name}"):
                gs.table.gather(source, [0], columns=["b"])
        with pytest.raises(gs.errors.InvalidArgument):
            gs.table.gather(source[::-1], [0])
    both = gs.table.gather([paths["one"], paths["order"]], [59, 0])
    assert both.to_pydict() == {"a": [29, 0], "b": [129, 100]}


def test_a_column_is_nullable_if_it_is_in_one_file(tmp_path):
    for name, nullable in (("a", False), ("b", True)):
        schema = pa.schema([pa.field("x", pa.int64(), nullable)])
        pq.write_table(pa.table({"x": [1, 2 if name == "a" else None]}, schema), tmp_path / f"{name}.parquet")
    result = gs.table.gather([tmp_path / "a.parquet", tmp_path / "b.parquet"], [3, 1])
    assert result.schema.field("x").nullable and result["x"].to_pylist() == [None, 2]


NAMES = ["co:lon", "~tilde", "sp ace#?%20", "a:b:c", os.fsdecode(b"bad\xff\xfe"), "~", "ümlaut", "*star*"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_names_of_files(tmp_path, monkeypatch, name, kind):
    name = name if name == "~" else f"{name}.{kind}"
    write(tmp_path / f"plain.{kind}", FIRST)
    shutil.copy(tmp_path / f"plain.{kind}", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given in [str(tmp_path / name), f"./{name}"] if name == "~" else [name, f"./{name}", str(tmp_path / name)]:
        assert gs.table.gather(given, [29, 0]).to_pydict() == {"a": [29, 0], "b": [129, 100]}
        assert gs.table.gather([given, given], [59, 0], columns=[np.str_("b")]).to_pydict() == {"b": [129, 100]}


def test_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "x.parquet", FIRST)
    assert gs.table.gather("~/x.parquet", [3])["a"].to_pylist() == [3]
    with pytest.raises(FileNotFoundError):
        gs.table.gather("~no-user-of-this-name/x.parquet", [3])
    with pytest.raises(TypeError, match=r"os\.fsdecode\(path\)"):
        gs.table.gather(os.fsencode(tmp_path / "x.parquet"), [3])


def test_encrypted_files(tmp_path):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):
        def __init__(self, config):
            super().__init__()

        def wrap_key(self, key, name):
            return base64.b64encode(key)

        def unwrap_key(self, key, name):
            return base64.b64decode(key)

    factory, connection = encryption.CryptoFactory(Keys), encryption.KmsConnectionConfig()
    for name, has_plain_footer in (("a", False), ("b", True)):
        path = tmp_path / f"{name}.parquet"
        made = encryption.EncryptionConfiguration("f", column_keys={"k": ["a"]}, plaintext_footer=has_plain_footer)
        properties = factory.file_encryption_properties(connection, made)
        with pq.ParquetWriter(path, FIRST.schema, encryption_properties=properties) as file:
            file.write_table(FIRST)
        error = OSError if has_plain_footer else gs.errors.InvalidArgument
        with pytest.raises(error, match=r"parquet.* open it as pyarrow.parquet.ParquetFile\(path, decryption_prop"):
            gs.table.gather(path, [0])
        opened = pq.ParquetFile(path, decryption_properties=factory.file_decryption_properties(connection))
        assert gs.table.gather(opened, [29]).to_pydict() == {"a": [29], "b": [129]}
        config = ds.ParquetDecryptionConfig(factory, connection, encryption.DecryptionConfiguration())
        scan = ds.ParquetFragmentScanOptions(decryption_config=config)
        source = ds.dataset(path, format=ds.ParquetFileFormat(default_fragment_scan_options=scan))
        assert gs.table.gather(source, [29]).to_pydict() == {"a": [29], "b": [129]}
