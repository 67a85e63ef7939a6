"""BM25 through a real index and a searcher: each language and kind of name finds its passage, and no other."""

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest

from pincite.retrieval.filters import Filters
from pincite.retrieval.searcher import open_index
from pincite.schemas.records import Space
from tests.retrieval.conftest import SmallIndex

UKRAINIAN = {
    "seal": "Торцеве ущільнення насоса замінюють через дві тисячі годин.",
    "name": "Відповідальна особа: Соломія О’Коннор-Дем'яненко.",
    "home": "Сім’я одержує об'єкт під охорону.",
    "pressure": "Тиск у трубопроводі вимірюють манометром.",
}
SWEDISH = {
    "bearing": "Smörj lagren var tredje månad.",
    "measure": "Mätningen av trycket görs vid pumpens utlopp.",
    "oil": "Byt oljan varje år. Öppna ventilen långsamt.",
    "name": "Kontakta Åsa Sjöström-Löfgren.",
}
CHINESE = {
    "moon": "床前明月光",
    "frost": "疑是地上霜",
    "head": "举头望明月",
    "home": "低头思故乡",
    "pump": "启动水泵之前,请清洁过滤器。iPhone手机放在控制柜里。",
    "width": "型号ＡＢＣ-１２３的阀门",
}
THAI = {
    "filter": "กรุณาทำความสะอาดไส้กรองทุกสัปดาห์",
    "pressure": "ตรวจสอบแรงดันก่อนเริ่มเดินเครื่อง",
    "oil": "เปลี่ยนน้ำมันทุกปี",
}
CODES = {
    "error": "Dry running is shown as ERR-4042.",
    "other": "Leakage is shown as ERR-4017.",
    "wide": "Overheating is shown as ＥＲＲ－４０５５.",
    "part": "Order the seal SEAL-MG1/33-G60.",
    "spaced": "Certified to ISO 9001:2015.",
    "bearing": "Bearing 6204-2RS/C3 by the supplier.",
    "field": "The field max_flow_rate holds litres.",
    "constant": "Set MAX_RETRIES to 5.",
    "version": "Firmware 3.2.1 mends it.",
    "older": "Firmware 3.2.10 had it.",
    "address": "The controller answers at 192.168.10.7.",
    "mail": "Write to service@pumps.example.com.",
    "path": "See /etc/pumps/b2.conf.",
    "money": "It costs 1,234,567 euros.",
    "screw": "Use a screw M12x1.5.",
    "mac": "Its address is 00:1A:2B:3C:4D:5E.",
    "unit": "The pump delivers 50 m³/h at ½ load.",
    "rule": "RULE-A002 replaces RULE-A001.",
}
NAMES = {
    "oneil": "Report of Mr. O'Neil.",
    "obrien": "Report of Mrs. O’Brien.",
    "dangelo": "Report of Mr. DʼAngelo.",
    "double": "Report of Dr. Müller‑Lüdenscheidt.",
    "smith": "Report of Ms. Smith-Jones.",
    "accent": "Report of Mr. Dvořák.",
    "decomposed": "Report of Mrs. Noe\u0308l.",
    "sharp": "Report of Mr. Strauß.",
    "polish": "Report of Ms. Wałęsa.",
    "turkish": "Report of Ms. Yıldız from İzmir.",
    "macdonald": "Report of Mr. McDonald.",
    "vietnamese": "Report of Mr. Nguyễn Văn An.",
    "initials": "Report of J.R.R. Tolkien.",
}


SETS = {
    "ukrainian": UKRAINIAN, "swedish": SWEDISH, "chinese": CHINESE, "thai": THAI, "codes": CODES, "names": NAMES
}  # fmt: skip
Best = Callable[[str, str], list[str]]


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory, live_space: Space) -> Iterator[Best]:
    """The names of the passages of a set that hold a term of the query, best first."""
    index = SmallIndex(tmp_path_factory.mktemp("languages") / "index", live_space)
    index.write(
        {f"{kind}/{name}.txt": [text] for kind, passages in SETS.items() for name, text in passages.items()}
    )
    with open_index(index.path) as searcher:

        def names(kind: str, query: str) -> list[str]:
            hits = searcher.search(query, mode="bm25", k=50, filters=Filters(folders=(kind,))).hits
            return [PurePosixPath(hit.document).stem for hit in hits]

        yield names


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("ущільненням", "seal"),  # instrumental
        ("УЩІЛЬНЕННЯ", "seal"),
        ("ущільнень", "seal"),  # genitive plural
        ("заміна торцевого ущільнення", "seal"),
        ("трубопровід", "pressure"),
        ("манометрів", "pressure"),
        ("О'Коннор", "name"),
        ("О‘Коннор", "name"),
        ("ОʼКоннор", "name"),
        ("О´Коннор", "name"),
        ("О`Коннор", "name"),
        ("О＇Коннор", "name"),
        ("О′Коннор", "name"),
        ("ОКоннор", "name"),
        ("Коннор", "name"),
        ("Дем’яненко", "name"),
        ("Демʼяненку", "name"),
        ("Соломією", "name"),
        ("сім'я", "home"),
        ("об’єкта", "home"),
    ],
)
def test_ukrainian(best: Best, query: str, first: str) -> None:
    assert best("ukrainian", query)[:1] == [first]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("mätningarna", "measure"),
        ("MÄTNING", "measure"),
        ("smörja", "bearing"),
        ("lagret", "bearing"),
        ("månader", "bearing"),
        ("oljebyte oljan", "oil"),
        ("ventilerna", "oil"),
        ("öppnas", "oil"),
        ("Sjöström", "name"),
        ("Lofgren Löfgren", "name"),
        ("SJÖSTRÖM-LÖFGREN", "name"),
        ("Sjo\u0308stro\u0308m", "name"),
        ("åsa", "name"),
    ],
)
def test_swedish(best: Best, query: str, first: str) -> None:
    assert best("swedish", query)[:1] == [first]


@pytest.mark.parametrize(
    ("query", "all_of_them"),
    [
        ("故乡", ["home"]),
        ("月光", ["moon"]),
        ("霜", ["frost"]),
        ("过滤器", ["pump"]),
        ("水泵", ["pump"]),
        ("iphone", ["pump"]),
        ("手机", ["pump"]),
        ("abc-123", ["width"]),
        ("ABC123", ["width"]),
        ("阀门", ["width"]),
        ("葡萄", []),
    ],
)
def test_chinese(best: Best, query: str, all_of_them: list[str]) -> None:
    assert best("chinese", query) == all_of_them


@pytest.mark.parametrize(
    ("query", "first"),
    [("ไส้กรอง", "filter"), ("ทำความสะอาด", "filter"), ("แรงดัน", "pressure"), ("น้ำมัน", "oil"), ("ปี", "oil")],
)
def test_thai(best: Best, query: str, first: str) -> None:
    assert best("thai", query)[:1] == [first]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("ERR-4042", "error"),
        ("err 4042", "error"),
        ("ERR4042", "error"),
        ("err_4042", "error"),
        ("ERR–4042", "error"),
        ("ERR—4042", "error"),
        ("ERR−4042", "error"),
        ("ERR\u20114042", "error"),
        ("ERR\u00ad-4042", "error"),
        ("ERR - 4042", "error"),
        ("ERR/4042", "error"),
        ("ERR.4042", "error"),
        ("4042", "error"),
        ("ＥＲＲ－４０４２", "error"),
        ("ERR-4055", "wide"),
        ("4055", "wide"),
        ("SEAL-MG1/33-G60", "part"),
        ("seal mg1 33 g60", "part"),
        ("SEAL MG1-33-G60", "part"),
        ("MG1", "part"),
        ("MG1/33", "part"),
        ("sealmg133g60", "part"),
        ("ISO9001", "spaced"),
        ("ISO 9001", "spaced"),
        ("iso-9001", "spaced"),
        ("ISO 9001:2015", "spaced"),
        ("6204-2RS", "bearing"),
        ("6204 2rs c3", "bearing"),
        ("62042RS", "bearing"),
        ("max_flow_rate", "field"),
        ("max flow rate", "field"),
        ("maxFlowRate", "field"),
        ("MAX_RETRIES", "constant"),
        ("max retries", "constant"),
        ("3.2.1", "version"),
        ("v3.2.1", "version"),
        ("3.2.10", "older"),
        ("192.168.10.7", "address"),
        ("service@pumps.example.com", "mail"),
        ("/etc/pumps/b2.conf", "path"),
        ("b2.conf", "path"),
        ("1234567", "money"),
        ("1,234,567", "money"),
        ("1 234 567", "money"),
        ("1.234.567", "money"),
        ("M12x1.5", "screw"),
        ("m12×1.5", "screw"),
        ("M12", "screw"),
        ("00:1a:2b:3c:4d:5e", "mac"),
        ("00-1A-2B-3C-4D-5E", "mac"),
        ("50 m3/h", "unit"),
        ("A002", "rule"),
        ("rule a002", "rule"),
        ("RULE-A002", "rule"),
    ],
)
def test_part_numbers_and_codes(best: Best, query: str, first: str) -> None:
    assert best("codes", query)[:1] == [first]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("O’Neil", "oneil"),
        ("O`Neil", "oneil"),
        ("ONeil", "oneil"),
        ("O Neil", "oneil"),
        ("neil", "oneil"),
        ("O'Brien", "obrien"),
        ("O´Brien", "obrien"),
        ("obrien", "obrien"),
        ("D'Angelo", "dangelo"),
        ("dangelo", "dangelo"),
        ("Müller-Lüdenscheidt", "double"),
        ("Müller–Lüdenscheidt", "double"),
        ("Lüdenscheidt", "double"),
        ("Mu\u0308ller", "double"),
        ("Smith Jones", "smith"),
        ("Smith–Jones", "smith"),
        ("jones", "smith"),
        ("DVOŘÁK", "accent"),
        ("Dvor\u030ca\u0301k", "accent"),
        ("Noël", "decomposed"),
        ("STRAUSS", "sharp"),
        ("Strauß", "sharp"),
        ("WAŁĘSA", "polish"),
        ("Yıldız", "turkish"),
        ("İzmir", "turkish"),
        ("izmir", "turkish"),
        ("YILDIZ", "turkish"),
        ("IZMIR", "turkish"),
        ("MCDONALD", "macdonald"),
        ("Nguyễn", "vietnamese"),
        ("J. R. R. Tolkien", "initials"),
        ("JRR Tolkien", "initials"),
    ],
)
def test_surnames(best: Best, query: str, first: str) -> None:
    assert best("names", query)[:1] == [first]
