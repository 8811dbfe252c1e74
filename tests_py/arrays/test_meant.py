"""test_meant.py: calls in the words of other libraries or in another order: the error says what was meant."""

import numpy as np
import pytest

import gatherscatter as gs

X, ROWS, VALUES = np.zeros(4), np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0])
BOARD = np.zeros((2, 3, 4))
TEXT = np.array(["a", "b"], np.dtypes.StringDType())

# call, and words that are in the text of its TypeError or ValueError
MEANT = {
    "reduce after src": (lambda: gs.scatter(X, 0, ROWS, VALUES, "add"), ["write reduce='add'"]),
    "reduce after rows": (lambda: gs.scatter(X, ROWS, VALUES, "sum"), ["write reduce='sum'"]),
    "reduce of points": (lambda: gs.scatter_nd(X, ROWS[:, None], VALUES, "max"), ["write reduce='max'"]),
    "bounds after rows": (lambda: gs.gather(X, ROWS, "fill"), ["write bounds='fill'"]),
    "bounds of points": (lambda: gs.gather_nd(X, ROWS[:, None], "clip"), ["write bounds='clip'"]),
    "bounds as axis=": (lambda: gs.gather(X, ROWS, axis="drop"), ["write bounds='drop'"]),
    "another word": (lambda: gs.gather(X, ROWS, "index"), ["'index' is in the place of axis", "expected an integer"]),
    "torch_scatter": (
        lambda: gs.scatter(VALUES[:, None], ROWS, dim=0, dim_size=5, reduce="sum"),
        ["dim_size=n", "scatter(zeros of n rows, index, src, axis=0, reduce='add')"],
    ),
    "torch_scatter without a size": (
        lambda: gs.scatter(VALUES[:, None], ROWS, dim=0, reduce="sum"),
        ["scatter(zeros of n rows, index, src, axis=0, reduce='add')"],
    ),
    "dim_size alone": (lambda: gs.scatter(VALUES, ROWS, dim_size=5), ["scatter(zeros of n rows"]),
    "exchanged": (lambda: gs.scatter(X, VALUES, ROWS), ["exchanged", "scatter(input, indices, src)"]),
    "exchanged elements": (lambda: gs.scatter(X, 0, VALUES, ROWS), ["exchanged", "scatter(input, dim, index, src)"]),
    "exchanged points": (
        lambda: gs.scatter_nd(X, VALUES[:, None], ROWS),
        ["exchanged", "scatter_nd(input, indices, updates)"],
    ),
    "exchanged input": (lambda: gs.gather(ROWS, VALUES, axis=0), ["exchanged", "gather(input, indices, axis)"]),
    "text of NumPy 2": (lambda: gs.gather(TEXT, [0], axis=0), ["StringDType", "input.astype('U')"]),
    "text of NumPy 2 in take": (lambda: gs.take(TEXT, [0]), ["lies outside of the array"]),
    "text of NumPy 2 to write": (lambda: gs.scatter(np.array(["a"]), [0], TEXT[:1]), ["src.astype('U')"]),
    "batch of points": (
        lambda: gs.gather_nd(BOARD, np.zeros((5, 2, 1), int), batch_dims=1),
        ["(2, 3, 4)", "axis 0 has 2 and 5 positions", "batch_dims=0"],
    ),
    "batch of slices": (
        lambda: gs.gather(BOARD, np.zeros((2, 2), int), axis=2, batch_dims=2),
        ["axis 1 has 3 and 2 positions", "batch_dims=0"],
    ),
}


@pytest.mark.parametrize("name", MEANT)
def test_the_error_says_what_was_meant(name):
    call, words = MEANT[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    if "exchanged" in words:
        assert "astype" not in str(caught.value)  # a cast would write what was not meant
    assert not X.any()


def test_exchanged_tensors_and_the_same_in_graphs():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, rows, values = torch.zeros(4), torch.tensor(ROWS), torch.tensor(VALUES)
    for given in (x, x.clone().requires_grad_()):
        with pytest.raises(TypeError, match=r"exchanged, the order is scatter\(input, indices, src\)"):
            gs.scatter(given, values, rows)
    with pytest.raises(TypeError, match=r"index\.long\(\) casts it"):
        gs.scatter(x, values, values.float())


def test_the_cast_of_values_of_another_library_is_one_of_theirs():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for input, src in (
        (np.zeros(3), torch.ones(2)),
        (torch.zeros(3), np.ones(2)),
        (torch.zeros(3, requires_grad=True), np.ones(2)),
        (np.zeros(3, np.float32), np.ones(2)),
        (torch.zeros(3), torch.ones(2, dtype=torch.float64)),
    ):
        with pytest.raises(TypeError, match=r"; src\.(to|astype)\(.+\) casts it") as caught:
            gs.scatter(input, 0, ROWS[:2], src)
        step = str(caught.value).split("; ")[-1].removesuffix(" casts it")
        cast = eval(step, {"src": src, "input": input, "torch": torch})
        assert gs.scatter(input, 0, ROWS[:2], cast).shape == (3,)


def test_a_large_sparse_matrix_is_not_made_an_array():
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    large, small = sparse.csr_matrix((200_000, 200_000)), sparse.csr_matrix((20, 20))
    for call in (
        lambda x: gs.gather(x, ROWS, axis=0),
        lambda x: gs.take(x, ROWS, axis=0),
        lambda x: gs.scatter(x, ROWS, 1.0),
    ):
        with pytest.raises(TypeError, match=r"x\[rows\] takes rows of it.* 320\.0 GB"):
            call(large)
        with pytest.raises(TypeError, match=r"x\.toarray\(\) makes one"):
            call(small)
