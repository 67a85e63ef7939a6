from itertools import pairwise

import pytest

from pincite.encoders.sentences import sentence_cuts


def sentences(text):
    cuts = [0, *sentence_cuts(text, 0, len(text)), len(text)]
    return [text[start:end].strip() for start, end in pairwise(cuts) if text[start:end].strip()]


@pytest.mark.parametrize(
    "text",
    [
        "Pi is 3.14 or so.",
        "Use e.g. Postgres for it.",
        "That is, i.e. Nothing.",
        "See Fig. 3 and Eq. 2 there.",
        "Dr. Smith and J. R. Hartley met Mr. O. Brown.",
        "The U.S. Senate met.",
        "Run setup.py or visit example.com/a?b=c now.",
        "It took ca. 5 h, z. B. Montag.",
        "Det är t.ex. Stockholm, bl.a. Kista.",
        "Это т. е. Москва, ул. Ленина.",
        "У 2020 р. Київ, напр. Поділ.",
        "12. A numbered heading",
        "What... is this?",
        "He said v1.2.3 works.",
        "if a != b: return?",
    ],
)
def test_a_mark_that_ends_nothing(text):
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Pi is 3.14. Next one.", ["Pi is 3.14.", "Next one."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("(Yes.) No.", ["(Yes.)", "No."]),
        ("Er sagte „nein.“ Dann ging er.", ["Er sagte „nein.“", "Dann ging er."]),
        ("What? ! Odd. … So.", ["What?", "!", "Odd.", "…", "So."]),
        ("Really?! Yes... No.", ["Really?!", "Yes...", "No."]),
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("他说：“好。”然后走了。", ["他说：“好。”", "然后走了。"]),
        ("「はい。」と言った。", ["「はい。」", "と言った。"]),
        ("पहला वाक्य। दूसरा वाक्य।", ["पहला वाक्य।", "दूसरा वाक्य।"]),
        ("هل هذا؟ نعم.", ["هل هذا؟", "نعم."]),
        ("یہ ایک ہے۔ یہ دو ہے۔", ["یہ ایک ہے۔", "یہ دو ہے۔"]),
        ("Առաջին։ Երկրորդ։", ["Առաջին։", "Երկրորդ։"]),
        ("ប្រយោគមួយ។ ប្រយោគពីរ។", ["ប្រយោគមួយ។", "ប្រយោគពីរ។"]),
        ("ပထမ။ ဒုတိယ။", ["ပထမ။", "ဒုတိယ။"]),
        ("አንድ። ሁለት።", ["አንድ።", "ሁለት።"]),
        ("First line.\nSecond line.", ["First line.", "Second line."]),
        ("Перше речення. Друге речення.", ["Перше речення.", "Друге речення."]),
    ],
)
def test_a_sentence_ends_in_any_script(text, expected):
    assert sentences(text) == expected
