"""Bytes to text: nothing guessed or damaged without a warning."""

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.schemas.errors import Unreadable
from pincite.tasks.extraction.base.encoding import decode

# Short texts, where a guess is hardest, each in the encodings that were in use for its language.
LEGACY = {
    "Räksmörgåsen ligger på köksbordet. Vattenpumpens lager måste smörjas två gånger om året.": (
        "cp1252 latin-1 mac-roman cp850"
    ),
    "Smörgåsbord": "cp1252",
    "Die Größe der Öffnung beträgt 12 mm. Für Rückfragen wählen Sie bitte die 17.": "cp1252",
    "L’été dernier, à l’école, les élèves ont reçu « un café » pour 3 €.": "cp1252",
    "Zażółć gęślą jaźń. Łożysko pompy wymaga smarowania dwa razy w roku.": "cp1250 iso8859-2",
    "Подшипник насоса смазывают два раза в год. Ошибка ERR-4042 означает перегрев.": "cp1251 koi8-r cp866",
    "Привет, мир": "cp1251",
    "Підшипник насоса змащують двічі на рік. Помилка означає перегрів обмотки.": "cp1251 koi8-u",
    "水泵轴承每年润滑两次。错误代码表示过热，请立即停机检查。": "gb18030 gbk",
    "水泵軸承每年潤滑兩次。錯誤代碼表示過熱，請立即停機檢查。": "big5",
    "ポンプの軸受は年に二回給油します。エラーコードは過熱を示します。": "cp932 euc-jp",
    "펌프 베어링은 일 년에 두 번 윤활합니다. 오류 코드는 과열을 의미합니다.": "cp949",
    "Το ρουλεμάν της αντλίας λιπαίνεται δύο φορές τον χρόνο.": "cp1253",
    "Pompa yatağı yılda iki kez yağlanır. Hata kodu aşırı ısınmayı gösterir.": "cp1254",
}


@pytest.mark.parametrize(
    ("text", "encoding"), [(text, name) for text, names in LEGACY.items() for name in names.split()]
)
@pytest.mark.parametrize("times", [1, 8])
def test_a_legacy_encoding_is_guessed_and_named(text: str, encoding: str, times: int) -> None:
    content = (text + "\n") * times
    decoded, warnings = decode(content.encode(encoding))
    assert decoded == content
    assert [warning.code for warning in warnings] == ["encoding-guessed"]


def test_the_guess_looks_where_the_letters_are() -> None:
    content = "plain ascii line\n" * 40_000 + "Räksmörgåsen ligger på köksbordet, och lagret är varmt.\n"
    assert decode(content.encode("cp1252"))[0] == content


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_no_text(mark: bytes, encoding: str) -> None:
    assert decode(mark + "Помпа 泵 😀".encode(encoding)) == ("Помпа 泵 😀", ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_seen(encoding: str) -> None:
    text, warnings = decode("Pump hall 2, early shift\r\n".encode(encoding))
    assert text == "Pump hall 2, early shift\n"
    assert warnings[0].code == "encoding-guessed" and encoding.upper() in warnings[0].message


def test_a_seven_bit_encoding_is_not_taken_for_ascii() -> None:
    assert decode("ポンプの軸受".encode("iso2022_jp")) == ("ポンプの軸受", ())


def test_a_declared_encoding_is_used_where_the_bytes_are_no_utf8() -> None:
    content = "Zażółć gęślą jaźń".encode("iso8859-2")
    assert decode(content, "ISO-8859-2") == ("Zażółć gęślą jaźń", ())
    assert decode("3 € – “so”".encode("cp1252"), "iso-8859-1") == ("3 € – “so”", ())
    assert decode("Größe".encode(), "iso-8859-1") == ("Größe", ())


@pytest.mark.parametrize(
    "declared",
    ["no-such-encoding", "utf-16", "undefined", "utf-7", "base64", "rot13", "unicode_escape", "", "\x00"],
)
def test_a_declared_encoding_that_is_none_is_ignored(declared: str) -> None:
    assert decode("Подшипник насоса смазывают".encode("cp1251"), declared)[0] == "Подшипник насоса смазывают"


@given(st.text())
def test_utf8_comes_back_whole_but_for_its_line_ends(text: str) -> None:
    if "\x00" in text or text.startswith("\ufeff") or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text):
        return
    assert decode(text.encode()) == (text, ())


@given(st.lists(st.sampled_from(["a", "é", "\r\n", "\r", "\n", "\n\r", "😀"])))
def test_every_line_end_becomes_one_line_feed(parts: list[str]) -> None:
    source = "".join(parts)
    decoded, _ = decode(source.encode())
    assert decoded.split("\n") == source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert "\r" not in decoded


def test_one_broken_byte_in_utf8_is_shown_and_told_and_spoils_nothing_else() -> None:
    content = "Größe, Öffnung, Lager für Übergänge, Späne, Räder\n".encode()
    text, warnings = decode(content[:60] + b"\xff" + content)
    assert text.count("\ufffd") == 1 and text.endswith("Größe, Öffnung, Lager für Übergänge, Späne, Räder\n")
    assert warnings[0].code == "damaged-encoding" and "1 broken" in warnings[0].message
    cut, warnings = decode("Größe ё".encode()[:-1])
    assert cut == "Größe \ufffd" and warnings[0].code == "damaged-encoding"


def test_a_replacement_character_of_the_source_is_no_damage() -> None:
    assert decode("lost \ufffd before".encode()) == ("lost \ufffd before", ())


@given(st.binary(min_size=1, max_size=300))
def test_no_bytes_yield_a_silent_replacement(data: bytes) -> None:
    try:
        text, warnings = decode(data)
    except Unreadable:
        return
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        assert warnings
    text.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"text with a \x00 in it",
        b"\x00\x01",
        b"\x01\x02\x03\x04",
        bytes(range(256)) * 4,
        random.Random(1).randbytes(3000),
        codecs.BOM_UTF16_LE + b"\x00\xd8",
        codecs.BOM_UTF16_LE + b"abc",
        "Größe".encode("utf-16-le") + b"\x00",
    ],
)
def test_binary_data_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[31mred\x1b[0m\x0cpage two", "red\x0cpage two"),
        (b"\x1b[1;38;5;208mcode 5502\x1b[m", "code 5502"),
        (b"\x1b]8;;https://a.example/\x1b\\the page\x1b]8;;\x1b\\", "the page"),
        (b"\x1b]0;a title\x07\x1b[2K\x1b[1Gdone\x1b(B", "done"),
        (b"N\x08NA\x08AM\x08ME\x08E", "NAME"),
    ],
)
def test_what_steers_a_terminal_is_no_text(data: bytes, text: str) -> None:
    assert decode(data) == (text, ())


def test_nuls_of_a_log_that_was_cut_are_left_out_and_told() -> None:
    text, warnings = decode(b"02:00:01 the pump was started\n" + b"\x00" * 64 + b"02:00:02 code ERR-5501\n")
    assert text == "02:00:01 the pump was started\n\n02:00:02 code ERR-5501"
    assert [warning.code for warning in warnings] == ["nul-bytes"]
    assert "64 NUL bytes in 1 place, the first at 30" in warnings[0].message


@pytest.mark.parametrize("other", ["naïve café", "Größe 5 mm", "“quoted” – €5"])
def test_lines_of_two_encodings_are_each_read_in_their_own(other: str) -> None:
    data = "Good line: naïve café\n".encode() + f"{other}\n".encode("cp1252") * 2
    text, warnings = decode(data)
    assert text == f"Good line: naïve café\n{other}\n{other}\n"
    assert [warning.code for warning in warnings] == ["mixed-encodings"]
    assert "2 lines (line 2, 3)" in warnings[0].message


def test_a_damaged_line_is_not_taken_for_another_encoding() -> None:
    text, warnings = decode("één café naïef\n".encode() * 5 + b"caf\xc3 na\xc3\xafef\n")
    assert text.endswith("caf\ufffd naïef\n") and [warning.code for warning in warnings] == [
        "damaged-encoding"
    ]


def test_a_line_of_german_is_not_held_for_turkish() -> None:
    text = "Straße;Größe\nMüllerstraße 5, Köln;groß\nÄußere Allee 7, Düsseldorf;mäßig\n"
    decoded, (warning,) = decode(text.encode("cp1252"))
    assert decoded == text
    assert "cp1252" in warning.message
