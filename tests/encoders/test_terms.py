import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.encoders.terms import passage_terms, reference_terms, terms


def found(query: str, passage: str) -> bool:
    return bool(set(terms(query)) & set(passage_terms(passage)))


def test_a_code_is_a_whole_its_parts_and_joined():
    assert terms("err-4042") == ["err-4042", "err", "4042", "err4042"]


@pytest.mark.parametrize(
    "query", ["A002", "a002", "rule a002", "RULE-A002", "rule-a002", "rulea002", "RULE A002"]
)
def test_a_rule_number_is_found_however_it_is_asked(query):
    assert found(query, "See RULE-A002, which replaces RULE-A001.")


def test_neighbours_of_a_long_name_are_joined_and_digits_are_not():
    assert "oconnor" in terms("O’Connor-Lee") and "connorlee" in terms("O’Connor-Lee")
    assert terms("3.2.1") == ["3.2.1", "3", "2", "1", "321"]
    assert terms("m12x1.5")[:3] == ["m12x1.5", "m12x1", "m12"]
    assert terms("a1b2c3d4e5f60718") == ["a1b2c3d4e5f60718"]


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("iso 9001", "certified to ISO9001"),
        ("ISO9001", "certified to ISO 9001"),
        ("err4042", "code ERR-4042 was shown"),
        ("4042", "code ERR_4042"),
        ("ERR–4042", "code ERR-4042"),  # typed with an en dash
        ("err-4042", "code ERR\u20114042"),  # a hyphen that doesn't break
        ("OBrien", "signed by Mr. O’Brien"),
        ("o'brien", "signed by Mr. O’Brien"),
        ("C#", "written in C#"),
        ("c++", "in C++."),
        ("1234567", "a sum of 1,234,567 euros"),
        ("3.14", "pi is 3.14."),
        ("john.doe@example.com", "Write to John.Doe@Example.com."),
        ("snake_case_name", "the field snake_case_name"),
        ("case", "the field snake_case_name"),
        ("b2", "see /a/b2"),
        ("M12x1.5", "thread m12x1.5"),
    ],
)
def test_codes_and_names_are_found(query, passage):
    assert found(query, passage)


def test_a_code_weighs_more_where_it_stands_whole():
    query = set(terms("err-4042"))
    assert len(query & set(passage_terms("ERR-4042"))) > len(query & set(passage_terms("ERR-4043 and 4042")))


@pytest.mark.parametrize(
    ("query", "passages", "right"),
    [
        ("故乡", ["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"], [3]),
        ("月光", ["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"], [0]),
        ("月", ["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"], [0, 2]),
        ("霜", ["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"], [1]),
        ("タワー", ["東京タワーに行く", "東京に行く"], [0]),
        ("学校", ["학교에서", "学校へ"], [1]),
        ("학교", ["학교에서", "학생이다"], [0]),
        ("학교가", ["학교에서", "회사에서"], [0]),
        ("집", ["집에 간다", "산에 간다"], [0]),
        ("ไทย", ["ภาษาไทยง่าย", "ภาษาลาว"], [0]),
        ("มา", ["เขามาแล้ว", "เธอไป"], [0]),
        ("手机", ["我的iPhone手机", "我的iPhone"], [0]),
        ("iphone", ["我的iPhone手机", "我的手机"], [0]),
    ],
)
def test_scripts_without_spaces(query, passages, right):
    assert [at for at, passage in enumerate(passages) if found(query, passage)] == right


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("українська", "Українською мовою"),
        ("ÅNGSTRÖM", "ångström"),
        ("A\u030angström", "Ångström"),  # decomposed
        ("STRASSE", "Straße"),
        ("izmir", "İzmir"),
        ("YILDIZ", "yıldız"),
        ("ΟΔΟΣ", "οδος"),
        ("ﬁnance", "finance"),  # a ligature
        ("co\u00adoperate", "cooperate"),  # a soft hyphen
        ("می\u200cخواهم", "میخواهم"),
        ("123", "١٢٣"),
        ("ｆｕｌｌ", "full"),
        ("a", "plan a"),
        ("to be or not", "not"),
    ],
)
def test_one_word_in_two_spellings(query, passage):
    assert found(query, passage)


def test_accents_are_not_folded():
    assert not found("resume", "résumé")


def test_longer_words_share_their_first_five_letters():
    assert terms("retrieval") == ["retrieval", "retri"]
    assert terms("fives") == ["fives"]
    assert found("mätningar", "mätningen")


def test_the_reference_tokenizer_takes_ascii_only():
    assert reference_terms("Err-4042, Ärger!") == ["err", "4042", "rger"]


@pytest.mark.parametrize("text", ["", " \n", "—!?…", "😀😀", "\u0301", "- + #", "|---|---|"])
def test_nothing_to_read_gives_no_terms(text):
    assert terms(text) == passage_terms(text) == []


@given(st.text())
def test_terms_are_words_and_a_passage_finds_itself(text):
    own = terms(text)
    assert all(term and not any(character.isspace() for character in term) for term in own)
    assert set(own) <= set(passage_terms(text))


@given(st.text(alphabet="aéıİi1ß漢かไก가 -_.'/,+#\u0301\u200d", max_size=40))
def test_case_does_not_matter(text):
    assert terms(text.upper()) == terms(text.upper().lower())


@pytest.mark.parametrize("unit", ["a", "a-", "1,", "漢", "ไก", "a.", "가", "\u0301", "-", "a1"])
def test_time_is_linear(unit):
    def seconds(length: int) -> float:
        text = unit * length
        start = time.process_time()
        terms(text)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(80_000) < 40 * max(seconds(8_000), 0.002)


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("user", "Call getUserById before the session ends."),
        ("getuserbyid", "Call getUserById before the session ends."),
        ("HTTP server", "class HTTPServer"),
        ("phone", "an iPhone"),
        ("1000000", "The city has 1 000 000 inhabitants."),
        ("1,000,000", "The city has 1\u202f000\u202f000 inhabitants."),
        ("1 000 000", "a sum of 1000000"),
        ("1 000 000", "eine Summe von 1.000.000"),
        ("230", "The motor needs 230V and a fuse of 16A."),
        ("2.5 kW", "a heater of 2.5kW"),
        ("المضخة", "الْمِضَخَّةُ تعملُ بضغطٍ عالٍ"),
        ("المضخة", "المضـــخة"),
        ("שלום", "שָׁלוֹם"),
        ("Știința", "Ştiinţa şi tehnica"),
        ("क़लम", "कलम"),
        ("password", "The pass\u200bword lies in the safe."),
        ("后台", "後臺管理需要密碼。"),
        ("後臺", "后台管理需要密码。"),
    ],
)
def test_one_word_has_one_spelling(query, passage):
    assert found(query, passage)


def test_a_zero_width_space_parts_words_of_a_script_without_spaces():
    assert "\u200b" not in "".join(passage_terms("ภาษา\u200bไทย"))
    assert "ษาไ" not in passage_terms("ภาษา\u200bไทย")


def test_numbers_beside_one_another_are_no_grouped_number():
    assert "1250" not in passage_terms("12 50")
    assert "12345678" not in passage_terms("12 345 6789") and "1234567" not in passage_terms("1234 567")
