"""`pincite doctor`."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import typer

from pincite.console import DEFAULT_INDEX, ExitCode, IndexOption, JsonOption, one_line, print_json, say
from pincite.encoders.models import resolve_model
from pincite.flows.settings import load_settings
from pincite.retrieval.rerank import resolve_reranker
from pincite.schemas.errors import ModelUnavailable, OcrUnavailable, PinciteError
from pincite.schemas.health import Finding
from pincite.schemas.records import Configuration, Space
from pincite.schemas.settings import Settings, completed, recipe
from pincite.storage.checks.doctor import examine
from pincite.storage.snapshots.index import LEDGER_FILE, Index
from pincite.tasks.extraction.ocr.installed import check_languages, installed_languages, version
from pincite.tasks.steps.configuration import configuration, resolved


def doctor(index: IndexOption = DEFAULT_INDEX, json: JsonOption = False) -> None:
    """Look at tools, models, disk, ledger, segments and documents; each finding comes with its remedy."""
    settings = load_settings()
    space, whole, of_index = _index(Path(index), settings)
    findings = [*_ocr(settings), *_models(whole, space), *of_index]
    wrong = [finding for finding in findings if finding.level == "wrong"]
    if json:
        print_json({"findings": [asdict(finding) for finding in findings], "wrong": len(wrong)})
    else:
        for finding in findings:
            say(f"{finding.level:6}{finding.area:10}{one_line(finding.what)}")
            if finding.remedy:
                say(f"{'':16}→ {one_line(finding.remedy)}")
    raise typer.Exit(ExitCode.FELL_SHORT if wrong else ExitCode.WELL)


def _index(path: Path, settings: Settings) -> tuple[Space | None, Settings, list[Finding]]:
    """(the live model version, None without an index that can be read; the settings in full; what is to be said)."""
    if not (path / LEDGER_FILE).exists():
        return (
            None,
            completed(settings),
            [Finding("ledger", "note", f"there is no index at {path}", "make one: pincite index FOLDER")],
        )
    try:
        with Index.open(path) as opened:
            findings = list(examine(opened, _current(opened, settings)))
            if not os.access(path, os.W_OK):
                what = f"{path} can't be written: it can only be searched"
                findings.append(Finding("disk", "note", what, "let this user write there to index into it"))
            with opened.snapshot() as snapshot:
                return snapshot.space, resolved(opened, settings), findings
    except PinciteError as error:
        wrong = Finding("ledger", "wrong", str(error), "restore the index folder from a copy")
        return None, completed(settings), [wrong]


def _current(index: Index, settings: Settings) -> Configuration:
    """What documents would be made with now; of a model that is not here `_models` tells."""
    try:
        return configuration(index, settings)
    except ModelUnavailable:
        return Configuration(recipe(settings))


def _ocr(settings: Settings) -> Iterator[Finding]:
    try:
        check_languages(settings.ocr.languages)
        languages = ", ".join(settings.ocr.languages)
        yield Finding("ocr", "ok", f"tesseract {version()} with {languages} of {len(installed_languages())}")
    except OcrUnavailable as error:
        yield Finding("ocr", "wrong", "pages without text can't be read", error.message)


def _models(settings: Settings, space: Space | None) -> Iterator[Finding]:
    try:
        model = resolve_model(settings.model)
    except ModelUnavailable as error:
        yield Finding("models", "wrong", f"the embedding model {settings.model} is not here", str(error))
        return
    if space and (model.name, model.fingerprint) != (space.model, space.fingerprint):
        yield Finding(
            "models",
            "wrong",
            f"the settings ask for {model.name} (weights {model.fingerprint[:12]}), the index is of {space}",
            f"set the model to {space.model} with the weights that it had, or migrate to the new one",
        )
    else:
        yield Finding("models", "ok", f"{model.name}, weights {model.fingerprint[:12]}")
    try:
        yield Finding("models", "ok", f"reranker at {resolve_reranker(settings.reranker).folder}")
    except ModelUnavailable as error:
        yield Finding("models", "note", "--rerank can't be used", str(error))
