"""What the tests would notice: small faults are planted in the code, one at a time, and the tests are run.

python -m benchmarks.mutation storage --count 60 --seed 1

For each fault the tests of the mirrored folder are run, and for one that they do not notice also the other test files
of the room that name the module. What no test notices is printed with its line: an equal program, or a gap.

Not mutmut: it keeps all mutants of a module in one copy of it, of which child processes of the tests know nothing.
Not cosmic-ray: it has one test command for all modules, and the tests of a room take minutes. All is done in a copy
of the checkout, so a run that is killed leaves no fault behind.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "pincite-index", ".hypothesis")
LONGEST_S = 300  # of one test run; a fault that hangs it is noticed

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: in `path`, the text between two offsets is replaced."""

    path: Path  # below the checkout
    line: int  # 1-based
    start: int  # bytes
    end: int
    before: str
    after: str


def changed(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The node with one fault, in each way that it can have one."""
    match node:
        case ast.Compare(ops=[only]) if type(only) in COMPARED:
            other = copy.deepcopy(node)
            other.ops = [COMPARED[type(only)]()]
            yield other
        case ast.BoolOp(op=op):
            other_bool = copy.deepcopy(node)
            other_bool.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield other_bool
        case ast.BinOp(op=op) if type(op) in COMPUTED:
            other_sum = copy.deepcopy(node)
            other_sum.op = COMPUTED[type(op)]()
            yield other_sum
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def faults_of(path: Path) -> Iterator[Fault]:
    """Of the bodies of functions; annotations and default values stay as they are."""
    source = (ROOT / path).read_bytes()
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    functions = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)]
    inner = {id(each) for one in functions for child in one.body for each in ast.walk(child)}
    nested = {id(one) for one in functions if id(one) in inner}
    for function in functions:
        for statement in () if id(function) in nested else function.body:
            for node in ast.walk(statement):
                for other in changed(node):
                    assert isinstance(node, ast.expr | ast.stmt)
                    assert node.end_lineno is not None and node.end_col_offset is not None
                    start = begins[node.lineno - 1] + node.col_offset
                    end = begins[node.end_lineno - 1] + node.end_col_offset
                    text = ast.unparse(ast.fix_missing_locations(other))
                    if isinstance(node, ast.expr):
                        text = f"({text})"
                    yield Fault(path, node.lineno, start, end, source[start:end].decode(), text)


def tests_of(path: Path) -> tuple[list[str], list[str]]:
    """(the mirrored folder or file, further test files of the room that name the module)."""
    mirrored = Path("tests") / path.parent
    own = mirrored / f"test_{path.name}"
    module = ".".join(("pincite", *path.with_suffix("").parts))
    first = [str(mirrored)] if len(path.parts) > 2 and (ROOT / mirrored).is_dir() else [str(own)]
    first = [one for one in first if (ROOT / one).exists()]
    further = [
        str(one.relative_to(ROOT))
        for one in sorted((ROOT / "tests" / path.parts[0]).rglob("test_*.py"))
        if module in one.read_text(encoding="utf-8")
    ]
    return first, [one for one in further if not any(one.startswith(each) for each in first)]


def _run(checkout: Path, tests: list[str]) -> None:
    """Runs them and ends this process."""
    import pytest

    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.chdir(checkout)
    sys.path.insert(0, str(checkout))
    os.environ["PYTHONPATH"] = str(checkout)
    os._exit(int(pytest.main(["-x", "-n", "0", *tests])))


def passes(checkout: Path, tests: list[str]) -> bool:
    """Whether the tests pass in a fork of this process, which has imported what is heavy."""
    if not (pid := os.fork()):
        try:
            _run(checkout, tests)
        finally:
            os._exit(1)
    until = time.monotonic() + LONGEST_S
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.05)
    return ended[1] == 0


def noticed(checkout: Path, fault: Fault, number: int) -> list[str]:
    """The tests of which one failed; none where all passed."""
    target = checkout / fault.path
    sound = target.read_bytes()
    written = target.stat().st_mtime_ns + 2_000_000_000 * number  # a compiled file is told by the second
    target.write_bytes(sound[: fault.start] + fault.after.encode() + sound[fault.end :])
    os.utime(target, ns=(written, written))
    try:
        return next((tests for tests in tests_of(fault.path) if tests and not passes(checkout, tests)), [])
    finally:
        target.write_bytes(sound)
        os.utime(target, ns=(written + 1_000_000_000,) * 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for heavy in ("duckdb", "numpy", "psutil", "pyarrow.parquet", "sqlalchemy", "pytest"):
        __import__(heavy)
    paths = sorted(one.relative_to(ROOT) for one in (ROOT / asked.folder).resolve().rglob("*.py"))
    everything = [fault for path in paths for fault in faults_of(path)]
    chosen = random.Random(asked.seed).sample(everything, min(asked.count, len(everything)))
    with tempfile.TemporaryDirectory(prefix="pincite-mutation-") as folder:
        checkout = Path(folder) / "checkout"
        shutil.copytree(ROOT, checkout, ignore=LEFT_OUT, symlinks=True)
        survived, sound = 0, set()
        for number, fault in enumerate(chosen, 1):
            found = noticed(checkout, fault, number)
            if found and tuple(found) not in sound:
                if not passes(checkout, found):
                    sys.exit(f"{found} fail without any fault")
                sound.add(tuple(found))
            survived += not found
            words = f"{fault.path}:{fault.line}: {' '.join(fault.before.split())[:90]} → {fault.after[:90]}"
            print(f"{number} {'noticed ' if found else 'SURVIVED'} {words}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} faults were noticed ({len(everything)} can be planted)")


if __name__ == "__main__":
    main()
