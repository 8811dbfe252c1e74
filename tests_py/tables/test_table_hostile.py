"""test_table_hostile.py: faulty Arrow producers cause errors, never a crash, and all structs are released once."""

import json
import subprocess
import sys

import pytest

import hostile_arrow_run
from hostile_arrow import BROKEN, HONEST, WRONG_ROWS
from hostile_arrow_run import CASES, PRODUCERS, REFUSED, STREAMS, producers

pytestmark = pytest.mark.long

USES = ("import", "gather", "nullify", "target", "map")
# A gather copies these values without following them, so the result is as wrong as the source.
CARRIED = ("view_", "key_", "sparse_type_id_")


@pytest.fixture(scope="module")
def outcomes():
    """The attempts of each case by name, from one child process that forks for each case."""
    script = hostile_arrow_run.__file__
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    by_name = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        by_name.setdefault(answer["name"], []).append(answer)
    return by_name


def attempts(outcomes, name):
    """The attempts of one case, after checks that none is missing, all structs were released, and the library works."""
    *tried, last = outcomes[name]
    assert not any(answer["outcome"] == ["crashed"] for answer in tried), tried[-1]
    assert last["use"] == "afterwards" and last["works"]
    assert len(tried) == len(USES) * 2 * len(producers(name))
    for answer in tried:
        assert answer["settled"], f"not everything was released exactly once: {answer}"
    return tried


def refused(answer):
    return any(kind in answer["outcome"] for kind in REFUSED)


def test_there_are_enough_hostile_cases():
    assert len(CASES) == len(set(CASES)) >= 60


@pytest.mark.parametrize("name", HONEST)
def test_the_samples_that_hostile_ones_are_made_of_are_good(outcomes, name):
    for answer in attempts(outcomes, name):
        two_columns = name == "honest_records" and answer["producer"] == 0  # its two columns need more than one scalar
        if answer["use"] != "map" and not (two_columns and answer["use"] == "target"):
            assert (answer["outcome"], answer["message"]) == (["returned"], "valid"), answer


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_structure_is_refused(outcomes, name):
    for answer in attempts(outcomes, name):
        assert "BufferError" in answer["outcome"], answer
        assert any(word in answer["message"] for word in ("'x'", "child ", "column ", "dictionary", "Arrow ")), answer


@pytest.mark.parametrize("name", WRONG_ROWS)
def test_wrong_rows_are_refused_where_they_are_looked_at(outcomes, name):
    for answer in attempts(outcomes, name):
        if answer["level"] == "full" and answer["use"] != "map":
            assert "BufferError" in answer["outcome"], answer
        elif answer["outcome"] == ["returned"]:
            untouched = answer["use"] == "import"
            assert answer["message"] == "valid" or untouched or name.startswith(CARRIED), answer
        else:
            assert refused(answer), answer


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_fails_is_refused(outcomes, name):
    for answer in attempts(outcomes, name):
        if answer["use"] == "map" and name == "stream_chunk_with_null_records":
            assert "TypeError" in answer["outcome"], answer  # the chunk has no integers, null or not
            continue
        assert "BufferError" in answer["outcome"], answer
        assert any(word in answer["message"] for word in ("Arrow", "chunk", "records")), answer
        if name.endswith("chunk_fails"):
            assert answer["message"].endswith("the disk is gone"), answer


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_producer_that_breaks_the_protocol_is_refused(outcomes, name):
    for answer in attempts(outcomes, name):
        if "_raises_" in name:
            assert refused(answer) and "not today" in answer["message"], answer
        else:
            assert "BufferError" in answer["outcome"], answer
            words = ("expected a capsule named", "expected a tuple of two capsules", "was released already")
            assert any(word in answer["message"] for word in words), answer
