"""test_keyword_errors.py: an unknown keyword of an operator is answered with the keyword that it has instead."""

from functools import partial

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._ops.near_keywords import explain_keyword

X = np.arange(12.0).reshape(3, 4)
ROWS = np.array([2, 0])
COLUMN = ROWS[:, None]

# call without the keyword, keyword, end of the text
MISTAKES = [
    (partial(gs.gather, X, ROWS, 0), "mode", "the keyword is bounds="),
    (partial(gs.gather, X, ROWS, 0), "fill", "the keyword is fill_value="),
    (partial(gs.gather, X, ROWS, 0), "reduce", "gatherscatter.scatter has reduce="),
    (partial(gs.gather, X, ROWS, 0), "fill_valeu", "the keyword is fill_value="),
    (partial(gs.gather, X, ROWS, 0), "sparse_grad", "the parameters are input, dim, index, batch_dims, axis, "),
    (partial(gs.scatter, X, 0, COLUMN), "value", "the keyword is src="),
    (partial(gs.scatter, X, ROWS, 0.0), "fill_value", "bounds='drop' writes nothing for an index"),
    (partial(gs.scatter, X, ROWS, 0.0), "inplace", "the keyword is out=, and out=input writes in place"),
    (partial(gs.scatter, X, ROWS, 0.0), "op", "the keyword is reduce="),
    (partial(gs.scatter_nd, X, COLUMN, 0.0), "src", "the keyword is updates="),
    (partial(gs.scatter_nd, X, COLUMN, 0.0), "axis", "gatherscatter.scatter has axis="),
    (partial(gs.gather_nd, X, COLUMN), "dim", "gatherscatter.gather has dim="),
    (partial(gs.take, X, ROWS), "dim", "the keyword is axis="),
    (partial(gs.take, X), "index", "the keyword is indices="),
    (partial(gs.take_along_axis, X, COLUMN), "dim", "the keyword is axis="),
    (partial(gs.put_along_axis, X, COLUMN, 0.0, 0), "reduce", "gatherscatter.scatter has reduce="),
    (partial(gs.tile_gather, X, (ROWS, ROWS)), "fill_value", "the keyword is padding_value="),
    (partial(gs.tile_gather, X, (ROWS, ROWS)), "bounds", "an error with check_bounds=False"),
    (partial(gs.repeat, X, 2), "dim", "the keyword is axis="),
    (partial(gs.plan, gs.gather, X, ROWS, 0), "mode", "the keyword is bounds="),
]


@pytest.mark.parametrize(("call", "word", "step"), MISTAKES)
def test_the_right_keyword_is_named(call, word, step):
    before = X.tobytes()
    with pytest.raises(TypeError, match=rf"^\w+\(\) got an unexpected keyword argument '{word}'; ") as caught:
        call(**{word: 0})
    assert step in str(caught.value)
    assert X.tobytes() == before


def test_a_dim_that_is_given_twice():
    with pytest.raises(TypeError, match=r"multiple values for argument 'dim'; slices are gather\(\.\., axis=\.\.\)"):
        gs.gather(X, ROWS, dim=0)


def test_a_keyword_of_no_operator_is_answered_with_the_parameters():
    with pytest.raises(TypeError, match="the parameters are condition, a, axis, out"):
        gs.compress([True], X, sparse=True)


def test_other_errors_stay_as_they_are():
    def function(a, *, axis=0):
        return a

    for text in (
        "other() got an unexpected keyword argument 'dim'",
        "function() missing 1 required positional argument: 'a'",
        "an error of an argument",
    ):
        error = TypeError(text)
        explain_keyword(function, error)
        assert error.args == (text,)
    with pytest.raises(TypeError, match=r"^gather\(\) takes from 1 to 4 positional arguments but 6 were given$"):
        gs.gather(X, ROWS, 0, 0, 0, 0)
