"""_jax.pyi: types of the extension module for XLA, which jitted functions call."""

handler: object
version: tuple[int, int]
