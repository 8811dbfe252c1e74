"""test_thread_limit_decorated.py: functions, generators and coroutines with a limit that callers do not get."""

import asyncio
from contextlib import aclosing

import pytest

import gatherscatter as gs
from gatherscatter.compat import pypto
from thread_numbers import DEFAULT, planned, process_number

__all__ = ["process_number"]


def test_a_decorated_function():
    @gs.thread_limit(2)
    def inside(again=True):
        """Its words."""
        assert gs.get_num_threads() == planned() == 2
        return inside(False) if again else "answer"

    assert inside() == "answer" and inside.__doc__ == "Its words." and inside.__name__ == "inside"

    @gs.thread_limit(1)
    def failing():
        raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert gs.get_num_threads() == DEFAULT


def test_a_decorated_coroutine():
    @gs.thread_limit(2)
    async def inside():
        await asyncio.sleep(0)
        return gs.get_num_threads()

    async def everything():
        return await asyncio.gather(inside(), asyncio.to_thread(gs.get_num_threads), inside()), await inside()

    assert asyncio.run(everything()) == ([2, DEFAULT, 2], 2)


def test_a_decorated_generator_has_the_limit_and_its_caller_has_not():
    @gs.thread_limit(2)
    def steps():
        yield gs.get_num_threads()
        with gs.thread_limit(1):
            yield gs.get_num_threads()
        yield gs.get_num_threads()

    seen = []
    for n in steps():
        seen.append((n, gs.get_num_threads()))
    assert seen == [(2, DEFAULT), (1, DEFAULT), (2, DEFAULT)]

    @gs.thread_limit(3)
    async def async_steps():
        yield gs.get_num_threads()
        await asyncio.sleep(0)
        yield gs.get_num_threads()

    async def everything():
        async with aclosing(async_steps()) as generator:
            return [(n, gs.get_num_threads()) async for n in generator]

    assert asyncio.run(everything()) == [(3, DEFAULT), (3, DEFAULT)]


class Pause:
    def __await__(self):
        return (yield)


def test_a_decorated_coroutine_has_the_limit_and_its_caller_has_not():
    @gs.thread_limit(2)
    async def inside():
        seen = [gs.get_num_threads()]
        try:
            await Pause()
        except KeyError:
            seen.append(gs.get_num_threads())
        with gs.thread_limit(1):
            await Pause()
            seen.append(gs.get_num_threads())
        return [*seen, gs.get_num_threads()]

    steps = inside()
    steps.send(None)
    assert gs.get_num_threads() == DEFAULT
    steps.throw(KeyError())
    assert gs.get_num_threads() == DEFAULT
    with gs.thread_limit(4):
        with pytest.raises(StopIteration) as end:
            steps.send(None)
        assert gs.get_num_threads() == 4
    assert end.value.value == [2, 2, 1, 2]


def test_what_a_decorated_function_starts_has_the_limit_until_it_ends():
    async def child(left):
        inside = gs.get_num_threads()
        await left.wait()
        return inside, gs.get_num_threads()

    @gs.thread_limit(2)
    async def coroutine(tasks, left):
        tasks.append(asyncio.create_task(child(left)))
        await asyncio.sleep(0)

    @gs.thread_limit(2)
    def generator(tasks, left):
        tasks.append(asyncio.create_task(child(left)))
        yield

    @gs.thread_limit(2)
    async def async_generator(tasks, left):
        tasks.append(asyncio.create_task(child(left)))
        yield

    async def everything():
        tasks, left = [], asyncio.Event()
        await coroutine(tasks, left)
        for _ in generator(tasks, left):
            await asyncio.sleep(0)
        async for _ in async_generator(tasks, left):
            await asyncio.sleep(0)
        left.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(everything()) == [(2, DEFAULT)] * 3


def test_decorators_of_a_generator_stack():
    @gs.thread_limit(2)
    @pypto.options(vec_tile_shapes=[2])
    def steps(first):
        second = yield gs.get_num_threads(), pypto.get_vec_tile_shapes(), first
        try:
            yield second
        except KeyError:
            yield gs.get_num_threads(), pypto.get_vec_tile_shapes()
        return "answer"

    generator = steps("one")
    assert next(generator) == (2, [2], "one")
    assert generator.send("two") == "two"
    assert generator.throw(KeyError()) == (2, [2])
    assert (gs.get_num_threads(), pypto.get_vec_tile_shapes()) == (DEFAULT, [])
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "answer"

    @gs.thread_limit(2)
    @pypto.options(vec_tile_shapes=[2])
    async def async_steps():
        second = yield gs.get_num_threads(), pypto.get_vec_tile_shapes()
        try:
            yield second
        except KeyError:
            yield gs.get_num_threads(), pypto.get_vec_tile_shapes()

    async def everything():
        generator = async_steps()
        seen = [await anext(generator), await generator.asend("two"), await generator.athrow(KeyError())]
        seen.append((gs.get_num_threads(), pypto.get_vec_tile_shapes()))
        await generator.aclose()
        return seen

    assert asyncio.run(everything()) == [(2, [2]), "two", (2, [2]), (DEFAULT, [])]
