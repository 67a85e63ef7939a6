"""Evaluations of an index in a folder, which is opened for each."""

from pathlib import Path
from typing import Any

from pincite.evaluation import evaluate as evaluating
from pincite.evaluation.gate import regression
from pincite.schemas.evaluation import Evaluation
from pincite.storage.snapshots.index import Index


def evaluate(index: Path, *arguments: Any, **more: Any) -> Evaluation:
    with Index.open(index) as opened:
        return evaluating.evaluate(opened, *arguments, **more)


def guard(index: Path, *arguments: Any, **more: Any) -> regression.Guarded:
    with Index.open(index) as opened:
        return regression.guard(opened, *arguments, **more)
