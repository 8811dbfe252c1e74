"""mutated_files.py: gathers from Arrow IPC files whose bytes were changed, and compares with pyarrow.

``bash .ci/fuzz_files 600`` tries seeds for so long, each part in a process of its own, and prints the seed of a mutant
that ends the process or breaks a promise. ``python tests_py/support/mutated_files.py --seed N --count 1`` repeats it.

A promise holds if the call raises an error of ours, or if every buffer has the bytes that its rows need and the rows
are those that pyarrow takes. pyarrow itself opens and validates each mutant first.
"""

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import gatherscatter as gs
from table_types import LAYOUTS, TYPES
from table_values import values

ERRORS = (OSError, BufferError, ValueError, TypeError, IndexError, OverflowError, MemoryError, NotImplementedError)
MANY = 100_000  # rows, of which no list is made
ROWS = 101  # of each batch, a number that occurs nowhere else in a file
EXPECTED = {"rows": 0, "errors": 0}


def sample(rng):
    """A table of one to three columns of any type, as the bytes of an IPC file."""
    names = rng.sample(list(TYPES), rng.randint(1, 3))
    make = np.random.default_rng(rng.randrange(1 << 30))
    columns = {}
    for name in names:
        chunk = LAYOUTS["plain"](TYPES[name], make)
        column = pa.chunked_array([chunk] if isinstance(chunk, pa.Array) else chunk.chunks)
        columns[name] = gs.table.gather(column, make.integers(0, len(column), 2 * ROWS)).combine_chunks()
    table = pa.table(columns)
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, None, "lz4", "zstd"]), unify_dictionaries=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=options) as file:
        file.write_table(table, max_chunksize=ROWS)
    return bytearray(sink.getvalue())


def lengths_in(data):
    """The places of numbers of 64 bits that may be lengths, counts and sizes: small and not zero."""
    words = np.frombuffer(bytes(data[: len(data) // 8 * 8]), "<i8")
    return (np.flatnonzero((words > 0) & (words < 1 << 20)) * 8).tolist()


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind <= 1 and (places := lengths_in(data)):
            at = rng.choice(places)
            old = struct.unpack_from("<q", data, at)[0]
            new = rng.choice(
                [old + 1, old * 2, old - 1, old + 8, 0, -1, 1 << 40, (1 << 62) + 1, rng.randrange(1 << 16)]
            )
            if rng.random() < 0.5:
                struct.pack_into("<q", data, at, new)
            else:  # everywhere, so that a number and its copies agree
                data = data.replace(struct.pack("<q", old), struct.pack("<q", new))
        elif kind == 2:
            data = data.replace(struct.pack("<q", ROWS), struct.pack("<q", rng.choice([ROWS + 8, 150, 1000, 1 << 31])))
        elif kind == 3:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            data[at : at + 4] = struct.pack("<i", rng.choice([-1, 0, 1, 1 << 30, -(1 << 31), rng.randrange(1000)]))
        else:
            end = min(len(data), at + rng.randrange(1, 64))
            data[at:end] = bytes(rng.choice([0, 255]) for _ in range(end - at))
    return bytes(data)


def read_by_pyarrow(data):
    """The table, and whether its buffers have the bytes that its rows need, whether all values are valid."""
    with pa.ipc.open_file(pa.py_buffer(data)) as file:
        batches = [file.get_batch(at) for at in range(file.num_record_batches)]
        if any(batch.num_rows < 0 for batch in batches):
            raise ValueError("pyarrow ends the process for such a table")
        table = pa.Table.from_batches(batches, file.schema)
    try:
        table.validate()
    except pa.ArrowInvalid:
        return table, False, False
    try:
        table.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError):
        return table, True, False
    return table, True, True


def attempt(call):
    try:
        result = call()
    except ERRORS:
        EXPECTED["errors"] += 1
        return None
    EXPECTED["rows"] += 1
    return result


def has_rows_of(result, table, rows):
    try:
        if table.num_rows <= MANY:
            whole = [values(column) for column in table.columns]
            expected = [[column[row] for row in rows] for column in whole]
        else:  # a column of nulls may have 2**31 rows and no bytes
            expected = [[values(column.slice(row, 1))[0] for row in rows] for column in table.columns]
    except ArithmeticError:  # decimals that no Decimal holds
        return True
    return result.schema.equals(table.schema) and repr([values(column) for column in result.columns]) == repr(expected)


def check(data, path, rng):
    try:
        table, is_long, is_valid = read_by_pyarrow(data)
    except Exception:  # what pyarrow refuses must be refused
        table, is_long, is_valid = None, False, False
    path.write_bytes(data)
    rows = [rng.randrange(2 * ROWS) for _ in range(rng.choice([1, 5, 3 * ROWS]))]
    words = {"validate": rng.choice(["basic", "full"]), "memory_budget": rng.choice([None, 1 << 22])}
    result = attempt(lambda: gs.table.gather(str(path), rows, **words))
    if result is not None:
        result.validate()
        if is_valid:
            assert has_rows_of(result, table, rows), "other rows than pyarrow's"
    if table is None:
        return
    calls = [
        lambda: gs.table.gather(table, rows, validate=words["validate"]),
        lambda: gs.table.gather(table.to_batches()[0], np.array(rows[:3])),
        lambda: gs.table.gather(pa.table({"x": range(ROWS)}), table.column(0)),
        lambda: gs.table.gather(table.column(0), rows),
        lambda: gs.table.gather(table.column(0).chunk(0), rows),
    ]
    if table.num_rows <= MANY:
        calls += [
            lambda: gs.table.filter(table, np.arange(table.num_rows) % 3 == 0),
            lambda: gs.table.scatter(table.slice(0, 2), [3, 1], table),
        ]
    for call in calls:
        result = attempt(call)
        if result is not None:
            result.validate()
            if isinstance(result, pa.Table) and result.schema.equals(table.schema):
                assert is_long, "rows of buffers that are too short"


def child(seed, count, folder):
    """Tries mutants; the file `seed` in the folder has the seed of the one that is tried."""
    path, note = Path(folder) / "x.arrow", Path(folder) / "seed"
    for number in range(seed, seed + count):
        note.write_text(str(number))
        rng = random.Random(number)
        data = sample(random.Random(number // 8))
        check(mutated(data, rng) if number % 8 else bytes(data), path, rng)
    print(EXPECTED["rows"], EXPECTED["errors"])


def run_children(seed, count, seconds):
    """The numbers of results and of errors. Raises AssertionError for a child that did not end well."""
    begin, first, total = time.monotonic(), seed, [0, 0]
    while True:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, __file__, "--child", folder, "--seed", str(seed), "--count", str(count)],
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            at = (Path(folder) / "seed").read_text()
        if done.returncode:
            raise AssertionError(f"seed {at} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        total = [a + int(b) for a, b in zip(total, done.stdout.split(), strict=True)]
        seed += count
        if (time_taken := time.monotonic() - begin) >= seconds:
            print(f"Done {seed - first} mutants in {time_taken:.0f} seconds: {total[0]} results, {total[1]} errors")
            return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--child")
    given = parser.parse_args()
    if given.child:
        child(given.seed, given.count, given.child)
    else:
        run_children(given.seed, given.count, given.seconds)
