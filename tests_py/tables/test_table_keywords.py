"""test_table_keywords.py: an unknown keyword of a table function is answered with the keyword that it has instead."""

import inspect
import pickle

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._table.near_keywords import explains_keywords

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame({"a": [1, 2, 3]})
MASK = [True, False, True]

# function, arguments, keyword, end of the text
MISTAKES = [
    (gs.table.gather, (FRAME,), "indices", "the keyword is gather_map="),
    (gs.table.gather, (FRAME,), "map", "the keyword is gather_map="),
    (gs.table.gather, (FRAME, [0]), "mode", "the keyword is bounds="),
    (gs.table.gather, (FRAME, [0]), "out_of_bounds_policy", "the keyword is bounds="),
    (gs.table.gather, (FRAME, [0]), "negative_index_policy", "the keyword is negative="),
    (gs.table.gather, (FRAME, [0]), "usecols", "the keyword is columns="),
    (gs.table.gather, (FRAME, [0]), "columns_", "the keyword is columns="),
    (gs.table.gather, (FRAME, [0]), "axis", "rows are the only axis"),
    (gs.table.gather, (FRAME, [0]), "fill", "the keyword is fill_value="),
    (gs.table.scatter, ([9], [0], FRAME), "fill_value", 'table.gather has fill_value= for bounds="nullify"'),
    (gs.table.gather, (FRAME, [0]), "out", "a table is never changed"),
    (gs.table.gather, (FRAME, [0]), "ignore_index", "the keyword is index="),
    (gs.table.gather, (FRAME, [0]), "mask", "table.filter and table.boolean_mask_scatter have boolean_mask="),
    (gs.table.gather, (FRAME, [0]), "sparse", "the parameters are source, gather_map, bounds"),
    (gs.table.gather, (FRAME, [0]), "how", 'bounds="nullify" of table.gather'),
    (gs.table.gather, (FRAME, [0]), "nullify", 'bounds="nullify" of table.gather'),
    (gs.table.gather, ([0],), "df", "the keyword is source="),
    (gs.table.scatter, ([9], [0]), "into", "the keyword is target="),
    (gs.table.scatter, ([9], [0], FRAME), "reduce", "gatherscatter.scatter has reduce= and duplicates="),
    (gs.table.scatter, ([9], [0], FRAME), "inplace", "a table is never changed"),
    (gs.table.scatter, ([9], [0], FRAME), "subset", "the keyword is partial="),
    (gs.table.filter, (FRAME,), "mask", "the keyword is boolean_mask="),
    (gs.table.filter, (FRAME, MASK), "gather_map", "table.gather has gather_map="),
    (gs.table.boolean_mask_scatter, ([9], FRAME), "where", "the keyword is boolean_mask="),
    (gs.table.copy_if_else, (FRAME, FRAME), "condition", "the keyword is boolean_mask="),
    (gs.table.copy_if_else, (FRAME,), "other", "the keyword is rhs="),
    (gs.table.segmented_gather, (FRAME,), "index", "the keyword is gather_map_list="),
    (gs.table.rows_of, (FRAME, [1]), "keeps", "the keyword is keep="),
    (gs.table.rows_of, (FRAME, FRAME), "on", "rows_of(right[names], left[names])"),
]


@pytest.mark.parametrize(("function", "given", "word", "step"), MISTAKES)
def test_the_right_keyword_is_named(function, given, word, step):
    with pytest.raises(
        TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument '{word}'; "
    ) as caught:
        function(*given, **{word: MASK})
    assert step in str(caught.value)
    if function is not gs.table.rows_of:
        with pytest.raises(TypeError, match=rf"got an unexpected keyword argument '{word}'; ") as caught:
            gs.plan(function, *given, **{word: MASK})
        assert step in str(caught.value)


def test_other_errors_stay_as_they_are():
    @explains_keywords
    def function(a, *, axis=0):
        raise TypeError(a)

    with pytest.raises(TypeError, match=r"^text$"):
        function("text")
    with pytest.raises(TypeError, match=r"^other\(\) got an unexpected keyword argument 'dim'$"):
        function("other() got an unexpected keyword argument 'dim'")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'gather_map'"):
        gs.table.gather(FRAME)
    with pytest.raises(TypeError, match="multiple values for argument 'source'"):
        gs.table.gather(FRAME, [0], source=FRAME)


def test_the_functions_keep_their_names_and_signatures():
    for name in gs.table.__all__:
        function = getattr(gs.table, name)
        assert pickle.loads(pickle.dumps(function)) is function
        kinds = {each.kind for each in inspect.signature(function).parameters.values()}
        assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    assert list(gs.table.gather(FRAME, np.array([2, 0]), bounds="raise")["a"]) == [3, 1]
