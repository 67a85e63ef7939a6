"""Notebooks: cells in order, each on its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from tests.tasks.extracted import check_offsets, codes, places


def read(notebook: Any, folder: Path) -> Extraction:
    (folder / "a.ipynb").write_text(json.dumps(notebook))
    extraction = extract(folder / "a.ipynb", Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


CELLS = [
    {"cell_type": "markdown", "source": ["# Flow\n", "\n", "Of 20 m<sup>2</sup>."]},
    {
        "cell_type": "code",
        "source": "print(7)\n\nx = 1",
        "outputs": [
            {"output_type": "stream", "text": ["\u001b[31mseven\u001b[0m\n"]},
            {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
            {"output_type": "error", "ename": "E", "evalue": "no such valve", "traceback": []},
        ],
    },
]


@pytest.mark.parametrize("notebook", [{"nbformat": 4, "cells": CELLS}, {"worksheets": [{"cells": CELLS}]}])
def test_cells_are_read_in_order(notebook: Any, tmp_path: Path) -> None:
    extraction = read(notebook, tmp_path)
    assert extraction.title == "Flow"
    assert extraction.text == (
        "# Flow\n\nOf 20 m².\n\nprint(7)\n\nx = 1\n\nseven\n\n<Figure>\n\nno such valve"
    )
    assert places(extraction)["cell 1"] == "# Flow\n\nOf 20 m²."
    assert "embedded-image" in codes(extraction)


@pytest.mark.parametrize("notebook", [[], {"cells": []}, {"cells": 3}, {"worksheets": [1]}, "text"])
def test_what_is_no_notebook_fails(notebook: Any, tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        read(notebook, tmp_path)
