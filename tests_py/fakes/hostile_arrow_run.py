"""hostile_arrow_run.py: tries each hostile Arrow producer in a forked process and prints a JSON line per attempt."""

import gc
import importlib
import json
import os
import signal
import sys
import traceback

import pyarrow as pa

import arrow_samples as samples
from arrow_structs import ArrayProducer, Stream, StreamProducer, capsule
from hostile_arrow import BROKEN, HONEST, WRONG_ROWS, column_set

REFUSED = ("BufferError", "ValueError", "TypeError")


def stream_of(make=samples.numbers, chunks=2, **options):
    def build():
        parts = [samples.as_table(make) for _ in range(chunks)]
        return Stream(parts[0][0], [column for _, column in parts], **options)

    return build


def changed_stream(stream, **values):
    for name, value in values.items():
        setattr(stream.struct, name, value)
    stream.gone = "release" in values
    return stream


def stream_set(**values):
    def build():
        return changed_stream(stream_of()(), **values)

    return build


def second_chunk_of(sample):
    def build():
        stream = stream_of()()
        stream.columns[1] = samples.as_table(sample)[1]
        return stream

    return build


def null_records():
    def build():
        stream = stream_of()()
        last = stream.columns[1]
        last.mask = samples.bits(0b101)
        last.addresses[0], last.struct.null_count = last.mask.ctypes.data, 1
        return stream

    return build


def schema_gone():
    def build():
        stream = stream_of()()
        stream.field.not_there()
        return stream

    return build


# A producer that fails may give any error text, but all structs must be released.
STREAMS = {
    "stream_schema_fails": stream_of(fails=(-1, 5)),
    "stream_schema_fails_without_a_message": stream_of(fails=(-1, 12), error=None),
    "stream_schema_fails_in_junk": stream_of(fails=(-1, 5), error=b"\xff\xfe%s%n"),
    "stream_first_chunk_fails": stream_of(fails=(0, 5)),
    "stream_second_chunk_fails": stream_of(fails=(1, 22)),
    "stream_fails_at_the_end": stream_of(fails=(2, 5)),
    "stream_fails_with_negative_code": stream_of(fails=(1, -1)),
    "stream_without_get_schema": stream_set(get_schema=None),
    "stream_without_get_next": stream_set(get_next=None),
    "stream_fails_without_get_last_error": lambda: changed_stream(stream_of(fails=(0, 5))(), get_last_error=None),
    "stream_released": stream_set(release=None),
    "stream_schema_released": schema_gone(),
    "stream_chunk_of_other_type": second_chunk_of(samples.records),
    "stream_chunk_of_more_buffers": second_chunk_of(samples.text),
    "stream_chunk_with_null_records": null_records(),
    "stream_second_chunk_broken": second_chunk_of(column_set(length=-1)),
}


class Odd:
    """A producer whose method returns, or raises, what `answer()` returns or raises."""

    def __init__(self, method, answer):
        self.exports = []
        setattr(type(self), method, lambda self, requested_schema=None: answer(self))

    def settled(self):
        return all(export.releases == (0 if export.struct.release else 1) for export in self.exports)


def odd(method, answer):
    return lambda: type("Odd", (Odd,), {})(method, answer)


def two_capsules(first=b"arrow_schema", second=b"arrow_array", swap=False, count=2):
    def answer(self):
        field, column = samples.numbers()
        self.exports += [field, column]
        pair = [capsule(field.struct, first), capsule(column.struct, second)]
        return tuple((pair[::-1] if swap else pair) * 2)[:count]

    return odd("__arrow_c_array__", answer)


def device_array(answer):
    return odd("__arrow_c_device_array__", answer)


def one_schema(self):
    field, column = samples.numbers()
    self.exports += [field, column]
    return capsule(field.struct, b"arrow_schema"), capsule(column.struct, b"arrow_array")


def raises(method, error):
    def answer(self):
        raise error

    return odd(method, answer)


def stream_capsule(name):
    def answer(self):
        self.exports.append(stream_of()())
        return capsule(self.exports[-1].struct, name)

    return odd("__arrow_c_stream__", answer)


def same_stream(self):
    self.exports = self.exports or [stream_of()()]
    return capsule(self.exports[0].struct, b"arrow_array_stream")


def spent():
    producer = odd("__arrow_c_stream__", same_stream)()
    pa.table(producer)
    return producer


# Producers that violate the protocol of capsules.
PRODUCERS = {
    "stream_is_none": odd("__arrow_c_stream__", lambda self: None),
    "stream_is_number": odd("__arrow_c_stream__", lambda self: 42),
    "stream_is_self": odd("__arrow_c_stream__", lambda self: self),
    "stream_is_tuple": odd("__arrow_c_stream__", lambda self: (None, None)),
    "stream_raises_value_error": raises("__arrow_c_stream__", ValueError("not today")),
    "stream_raises_type_error": raises("__arrow_c_stream__", TypeError("not today")),
    "stream_capsule_named_array": stream_capsule(b"arrow_array"),
    "stream_capsule_named_used": stream_capsule(b"used_arrow_array_stream"),
    "stream_capsule_nameless": stream_capsule(None),
    "stream_used_before": spent,
    "array_is_none": odd("__arrow_c_array__", lambda self: None),
    "array_is_one": two_capsules(count=1),
    "array_is_three": two_capsules(count=3),
    "array_is_swapped": two_capsules(swap=True),
    "array_of_two_schemas": two_capsules(second=b"arrow_schema"),
    "array_capsules_nameless": two_capsules(None, None),
    "array_of_numbers": odd("__arrow_c_array__", lambda self: (1, 2)),
    "array_of_none": odd("__arrow_c_array__", lambda self: (None, None)),
    "array_is_list": odd("__arrow_c_array__", lambda self: [1, 2]),
    "device_array_is_none": device_array(lambda self: None),
    "device_array_is_number": device_array(lambda self: 42),
    "device_array_is_one": device_array(lambda self: (1,)),
    "device_array_of_none": device_array(lambda self: (None, None)),
    "device_array_of_host_capsules": device_array(one_schema),
    "array_raises_buffer_error": raises("__arrow_c_array__", BufferError("not today")),
}


def producers(name):
    """The producers of a case: its column as an array, and in the chunks of a table."""
    if name in PRODUCERS:
        return [PRODUCERS[name]]
    if name in STREAMS:
        return [lambda: StreamProducer(STREAMS[name])]
    make = (HONEST | BROKEN | WRONG_ROWS)[name]
    return [lambda: ArrayProducer(make), lambda: StreamProducer(stream_of(make))]


def uses(gs, core):
    """The uses of a hostile producer; each returns a table or column."""
    return {
        "import": lambda it, level: core.ArrowTable(it, None, level == "full"),
        "gather": lambda it, level: gs.table.gather(it, [2, 0, 1, 2], validate=level),
        "nullify": lambda it, level: gs.table.gather(it, [2, None, 1], "nullify", validate=level),
        "target": lambda it, level: gs.table.scatter([None], [1], it, validate=level),
        "map": lambda it, level: gs.table.gather(pa.array(range(9)), it, "nullify", validate=level),
    }


def validity(result):
    """The result of pyarrow's full validation."""
    try:
        pa.chunked_array(result).validate(full=True)
    except pa.ArrowInvalid as error:
        return str(error)
    return "valid"


def attempt(make, use, level):
    """The outcome of one hostile producer, and whether everything that it exported was released once."""
    producer = make()
    try:
        result = use(producer, level)
        outcome, message = ["returned"], validity(result)
        del result
    except BaseException as error:
        outcome, message = [kind.__name__ for kind in type(error).__mro__], str(error)
        error.__traceback__ = None
    gc.collect()
    return {"outcome": outcome, "message": message, "settled": producer.settled()}


def all_attempts(name, write):
    import gatherscatter as gs
    from gatherscatter import _core

    for use, call in uses(gs, _core).items():
        for level in ("basic", "full"):
            for number, make in enumerate(producers(name)):
                where = {"name": name, "use": use, "level": level, "producer": number}
                # This line is the last one if the attempt ends the process.
                write({**where, "outcome": ["crashed"], "message": "", "settled": False})
                write({**where, **attempt(make, call, level)})
    works = gs.table.gather(pa.array([1, 2]), [1, -2]).to_pylist() == [2, 1]
    write({"name": name, "use": "afterwards", "works": works})


def in_a_fork(name):
    """The attempts of one case, up to a crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            all_attempts(name, lambda answer: os.write(writer, (json.dumps(answer) + "\n").encode()))
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        lines = [json.loads(line) for line in pipe]
    os.waitpid(child, 0)
    return [line for line, after in zip(lines, [*lines[1:], {}], strict=True) if not followed(line, after)]


def followed(line, after):
    """Whether `after` is the outcome of the attempt that `line` announces."""
    return line.get("outcome") == ["crashed"] and all(
        line[key] == after.get(key) for key in ("use", "level", "producer")
    )


CASES = (*BROKEN, *WRONG_ROWS, *STREAMS, *PRODUCERS)  # HONEST ones are tried too

if __name__ == "__main__":
    for module in ("gatherscatter", "numpy.ma", "pandas", "polars"):
        importlib.import_module(module)  # once, before the forks
    gc.freeze()  # else the collector would touch, and so copy, all pages in every child
    for case in (*HONEST, *CASES) if len(sys.argv) == 1 else sys.argv[1:]:
        for line in in_a_fork(case):
            print(json.dumps(line), flush=True)
    sys.exit(0)
