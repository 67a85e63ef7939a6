"""The language of a text: told, or left open."""

import random
import time

import pytest

from pincite.encoders.languages import LANGUAGES, language_of

TOLD = {
    "en": "The mechanical seal of the pump is replaced after two thousand hours of operation.",
    "de": "Jeder Mitarbeiter hat achtundzwanzig bezahlte Urlaubstage im Jahr.",
    "sv": "Smörj lagren var tredje månad och byt oljan varje år.",
    "da": "Regningen skal betales inden tredive dage efter, at den er modtaget.",
    "fi": "Lasku on maksettava kolmenkymmenen päivän kuluessa vastaanottamisesta.",
    "fr": "En cas d'incendie, quittez le bâtiment par l'escalier le plus proche.",
    "es": "Cada empleado tiene veintiocho días de vacaciones pagadas al año.",
    "pl": "W razie pożaru należy wyjść najbliższymi schodami i czekać na parkingu.",
    "tr": "Fatura alındıktan sonra otuz gün içinde ödenmelidir.",
    "uk": "Перед пуском насоса необхідно очистити фільтр і перевірити тиск.",
    "ru": "Перед пуском насоса необходимо очистить фильтр и проверить давление.",
    "bg": "Фактурата трябва да бъде платена в срок от тридесет дни.",
    "el": "Το τιμολόγιο πρέπει να πληρωθεί μέσα σε τριάντα ημέρες.",
    "ar": "يجب تنظيف المرشح كل أسبوع وفحص الضغط قبل تشغيل المضخة",
    "he": "יש לנקות את המסנן ולבדוק את הלחץ לפני הפעלת המשאבה",
    "hi": "पंप चालू करने से पहले फ़िल्टर साफ़ करें और दबाव जाँचें।",
    "th": "กรุณาทำความสะอาดไส้กรองทุกสัปดาห์และตรวจสอบแรงดัน",
    "zh": "启动水泵之前,请清洁过滤器并检查管道中的压力。",
    "ja": "ポンプを始動する前にフィルターを清掃し、圧力を確認してください。",
    "ko": "펌프를 시동하기 전에 필터를 청소하고 압력을 확인하십시오.",
}


@pytest.mark.parametrize("language", TOLD)
def test_a_sentence_is_enough(language: str) -> None:
    assert language_of([TOLD[language]]) == language
    assert (
        language_of(["ERR-4042 | 17.5 | https://example.com/a_b", TOLD[language], "33 SEAL-MG1-33"])
        == language
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "насос",
        "OK",
        "\n".join(f"| {n * 37 % 991} | {n * 1.7:.2f} |" for n in range(100)),
        "\n".join(f"SEAL-MG{n}-33 X{n}-{n * 7} ERR-40{n:02}" for n in range(100)),
        " ".join(random.Random(0).randbytes(16).hex() for _ in range(50)),
        "😀🚀" * 100,
        "Anna Svensson, Peter O'Neil, Ivan Petrov, María García, Jürgen Müller, Li Wei, Kenji Tanaka",
        '{"alpha": 1, "beta": [1, 2, 3], "gamma": {"delta": "x"}}' * 20,
        "ᎣᏏᏲ ᏙᎯᏧ ᎤᎵᎮᎵᏍᏗ ᎠᏂᏴᏫᏯ " * 5,
        "\ud800" * 50,
    ],
)
def test_what_can_not_be_told_is_left_open(text: str) -> None:
    assert language_of([text]) == "" and language_of([]) == ""


def test_most_of_a_document_decides_and_halves_leave_it_open() -> None:
    uk, en = [TOLD["uk"]] * 8, [TOLD["en"]] * 8
    assert language_of([*uk, *en[:2]]) == "uk"
    assert language_of([*uk[:2], *en]) == "en"
    assert language_of([*uk, *en]) == ""


def test_short_lines_are_told_together() -> None:
    assert language_of(["очистити фільтр", "перевірити тиск", "відкрити засувку", "увімкнути двигун"]) == "uk"


def test_the_codes_are_those_that_the_package_can_give() -> None:
    from pincite.encoders.languages import _code, _identifier

    assert {code for label in _identifier().labels if (code := _code(label))} == LANGUAGES
    assert all(len(code) == 2 for code in LANGUAGES) and {"uk", "zh", "sv", "th", "en"} <= LANGUAGES


def test_a_long_document_costs_no_more_than_a_sample() -> None:
    def seconds(texts: list[str]) -> float:
        start = time.process_time()
        language_of(texts)
        return time.process_time() - start

    texts = [TOLD["en"] * 8] * 100
    seconds(texts)
    assert seconds(texts * 50) < 15 * max(seconds(texts), 0.02)
