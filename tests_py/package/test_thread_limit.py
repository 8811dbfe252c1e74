"""test_thread_limit.py: limits on the number of threads: where they apply, and that they end with their block."""

import asyncio
import contextvars
import gc
import json
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core
from thread_numbers import DEFAULT, planned, process_number

__all__ = ["process_number"]


def suspended(n):
    """A generator that is suspended inside of a block and yields the number of threads there."""
    with gs.thread_limit(n):
        while True:
            yield gs.get_num_threads()


# ---- tasks


def test_overlapping_tasks_do_not_see_each_others_limits():
    async def work(n, turns):
        seen = [gs.get_num_threads()]
        with gs.thread_limit(n):
            for _ in range(turns):
                seen.append(gs.get_num_threads())
                await asyncio.sleep(0)
            assert planned() == n
        for _ in range(3):
            seen.append(gs.get_num_threads())
            await asyncio.sleep(0)
        return seen

    async def everything():
        tasks = [asyncio.create_task(work(n, turns)) for n, turns in ((1, 3), (2, 6), (3, 1), (4, 4))]
        bystander = [gs.get_num_threads()]
        for _ in range(12):
            await asyncio.sleep(0)
            bystander.append(gs.get_num_threads())
        return await asyncio.gather(*tasks), bystander

    seen, bystander = asyncio.run(everything())
    assert set(bystander) == {DEFAULT}
    for n, turns, one in zip((1, 2, 3, 4), (3, 6, 1, 4), seen, strict=True):
        assert one == [DEFAULT] + [n] * turns + [DEFAULT] * 3


def test_what_a_block_starts_has_its_limit_until_the_block_is_left():
    async def child(left):
        inside = gs.get_num_threads()
        with gs.thread_limit(3):
            own = gs.get_num_threads()
            await left.wait()
            kept = gs.get_num_threads()
        return inside, own, kept, gs.get_num_threads()

    async def everything():
        left = asyncio.Event()
        with gs.thread_limit(2):
            task = asyncio.create_task(child(left))
            other = await asyncio.to_thread(gs.get_num_threads)
        left.set()
        return await task, other

    assert asyncio.run(everything()) == ((2, 3, 3, DEFAULT), 2)


def test_a_cancelled_task_leaves_nothing_behind():
    async def work():
        with gs.thread_limit(1):
            await asyncio.sleep(60)

    async def everything():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return gs.get_num_threads()

    assert asyncio.run(everything()) == DEFAULT


def test_an_asynchronous_generator_that_another_task_closes():
    async def steps():
        with gs.thread_limit(2):
            yield gs.get_num_threads()
            yield gs.get_num_threads()

    async def everything():
        generator = steps()
        first = await anext(generator)
        inside = gs.get_num_threads()
        await asyncio.create_task(close(generator))
        return first, inside, gs.get_num_threads()

    async def close(generator):
        await generator.aclose()

    assert asyncio.run(everything()) == (2, 2, DEFAULT)


# ---- generators, and blocks that are left in another order than that of their entry


def test_generators_that_end_in_the_order_in_which_they_began():
    first, second = suspended(1), suspended(2)
    assert (next(first), next(second)) == (1, 2)
    first.close()
    assert gs.get_num_threads() == planned() == 2  # the second generator is still in its block
    second.close()
    assert gs.get_num_threads() == planned() == DEFAULT


def test_a_generator_that_ends_inside_of_another_block():
    generator = suspended(1)
    next(generator)
    with gs.thread_limit(4):
        generator.close()
        assert gs.get_num_threads() == 4
    assert gs.get_num_threads() == DEFAULT


def test_a_generator_that_is_forgotten():
    generator = suspended(1)
    next(generator)
    del generator
    gc.collect()
    assert gs.get_num_threads() == DEFAULT


def test_a_generator_that_another_thread_closes():
    generator = suspended(1)
    next(generator)
    other = threading.Thread(target=generator.close)
    other.start()
    other.join()
    assert gs.get_num_threads() == DEFAULT


def test_a_generator_that_a_copy_of_the_context_closes():
    generator = suspended(1)
    next(generator)
    context = contextvars.copy_context()
    assert context.run(gs.get_num_threads) == 1
    generator.close()
    assert context.run(gs.get_num_threads) == DEFAULT


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_blocks_are_left_in_any_order(order):
    blocks = [gs.thread_limit(n) for n in (1, 2, 3)]
    for block in blocks:
        block.__enter__()
    open_ones = [0, 1, 2]
    for k in order:
        assert gs.get_num_threads() == open_ones[-1] + 1
        blocks[k].__exit__(None, None, None)
        open_ones.remove(k)
        assert gs.get_num_threads() == (open_ones[-1] + 1 if open_ones else DEFAULT)


def test_a_context_manager_made_of_a_block():
    @contextmanager
    def single():
        with gs.thread_limit(1):
            yield

    with single():
        assert gs.get_num_threads() == 1
    with ExitStack() as stack:
        stack.enter_context(single())
        stack.enter_context(gs.thread_limit(2))
        assert gs.get_num_threads() == 2
    assert gs.get_num_threads() == DEFAULT


# ---- one instance, many blocks


def test_an_instance_is_used_again_and_inside_of_itself():
    limit = gs.thread_limit(2)
    for _ in range(3):
        with limit:
            assert gs.get_num_threads() == 2
            with gs.thread_limit(3), limit:
                assert gs.get_num_threads() == 2
            with pytest.raises(KeyError), limit:
                raise KeyError
            assert gs.get_num_threads() == 2
        assert gs.get_num_threads() == DEFAULT


def test_an_instance_in_tasks_that_overlap():
    limit = gs.thread_limit(2)

    async def work(turns):
        with limit:
            for _ in range(turns):
                assert gs.get_num_threads() == 2
                await asyncio.sleep(0)
        assert gs.get_num_threads() == DEFAULT

    async def everything():
        with limit:
            await asyncio.gather(*(child(turns) for turns in (1, 4, 2)))
            assert gs.get_num_threads() == 2
        await asyncio.gather(*(work(turns) for turns in (3, 1, 5)))

    async def child(turns):
        with limit:
            for _ in range(turns):
                assert gs.get_num_threads() == 2
                await asyncio.sleep(0)
        assert gs.get_num_threads() == 2

    asyncio.run(everything())


def test_an_instance_in_threads():
    limit, errors = gs.thread_limit(2), []
    barrier = threading.Barrier(4)

    def work(number):
        try:
            barrier.wait(60)
            for _ in range(200):
                assert gs.get_num_threads() == DEFAULT
                with limit:
                    assert gs.get_num_threads() == 2
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors


def test_a_block_that_was_not_entered_cannot_be_left():
    with gs.thread_limit(3):
        with pytest.raises(RuntimeError, match="thread_limit: the block was not entered"):
            gs.thread_limit(2).__exit__(None, None, None)
        assert gs.get_num_threads() == 3


def test_many_blocks_leave_nothing_in_the_context():
    generators = [suspended(1 + k % 5) for k in range(50)]
    for generator in generators:
        next(generator)
    for generator in generators:
        generator.close()
    kept = [value for variable, value in contextvars.copy_context().items() if variable is _core.thread_limits]
    assert kept == [()]


def test_an_instance_that_is_left_in_another_context_ends_the_block_that_is_left():
    limit = gs.thread_limit(2)

    def shared():
        with limit:
            yield gs.get_num_threads()

    entered, closed, seen = threading.Event(), threading.Event(), []

    def work():
        with limit:
            entered.set()
            closed.wait(60)
            seen.append(gs.get_num_threads())
        seen.append(gs.get_num_threads())

    for close in (
        lambda generator: contextvars.Context().run(generator.close),
        lambda generator: run_in_thread(generator.close),
        lambda generator: run_in_thread(inside, limit, generator.close),
    ):
        entered.clear(), closed.clear(), seen.clear()
        generator = shared()
        assert next(generator) == 2
        other = threading.Thread(target=work)
        other.start()
        entered.wait(60)
        close(generator)
        assert gs.get_num_threads() == DEFAULT
        closed.set()
        other.join(60)
        assert seen == [2, DEFAULT]


def inside(limit, call):
    with limit:
        call()
        assert gs.get_num_threads() == 2
    assert gs.get_num_threads() == DEFAULT


def run_in_thread(call, *args):
    errors = []

    def run():
        try:
            call(*args)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not errors


def test_a_generator_leaves_its_own_block_of_an_instance():
    limit = gs.thread_limit(2)

    def shared():
        with limit:
            yield

    generator = shared()
    next(generator)
    with gs.thread_limit(3), limit:
        generator.close()
        assert gs.get_num_threads() == 2
    with ExitStack() as stack:
        generator = shared()
        next(generator)
        stack.enter_context(gs.thread_limit(3))
        stack.enter_context(limit)
        generator.close()
        assert gs.get_num_threads() == 2
    assert gs.get_num_threads() == DEFAULT


def test_the_limit_is_what_calls_use():
    x, index = np.arange(1 << 16, dtype="f4"), np.random.default_rng(0).integers(0, 1 << 16, 1 << 18)
    for n in (1, 2, 5):
        with gs.thread_limit(n):
            assert gs.get_num_threads() == planned() == n
            np.testing.assert_array_equal(gs.take(x, index), x[index])
            assert json.dumps(gs.show_config()["threads"]) == str(n)


@pytest.mark.parametrize(
    "limits", ["evil", None, (1,), [[1]], ([[]],), (["x"],), ([0],), ([1025],), ([10**30],), ([True],)]
)
def test_limits_that_are_none_are_refused(limits):
    """All code can reach the context variable, whose value is read by C++."""
    token = _core.thread_limits.set(limits)
    try:
        with pytest.raises(TypeError, match="thread_limits holds"):
            gs.get_num_threads()
        with pytest.raises(TypeError, match="thread_limits holds"):
            planned()
    finally:
        _core.thread_limits.reset(token)
