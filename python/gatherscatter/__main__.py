"""`python -m gatherscatter`: `demo` runs examples on real data, `tune` measures thresholds, `info` prints settings."""

from __future__ import annotations

import argparse
import sys

import gatherscatter as gs
from gatherscatter._cli import info, tune
from gatherscatter_demo import demo


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gatherscatter", description="Gather and scatter on any array: a demo, and what is installed."
    )
    parser.add_argument("--version", action="version", version=f"gatherscatter {gs.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="demo | info | tune", required=True)
    about = "classify, move and look up real data, compare every result with NumPy, draw a picture"
    demo.add_arguments(commands.add_parser("demo", help=about, description=f"{about.capitalize()}."))
    about = "measure the sizes from which prefetching, streaming stores and threads save time on this machine"
    tune.add_arguments(commands.add_parser("tune", help=about, description=f"{about.capitalize()}."))
    commands.add_parser("info", help="show version, instruction set, threads, caches, CUDA")
    return parser


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.command == "demo":
        return demo.run(arguments)
    if arguments.command == "tune":
        return tune.run(arguments)
    print(info.text(gs.show_config()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
