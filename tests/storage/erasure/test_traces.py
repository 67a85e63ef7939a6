"""What is sought of a forgotten document."""

from pincite.storage.erasure.traces import MOST_STRETCHES, STRETCH, Said


def said(text: str) -> Said:
    return Said((), (), (text,), ())


def test_every_line_of_a_short_text_is_sought() -> None:
    lines = [f"line {number} of the letter" for number in range(MOST_STRETCHES)]
    assert said("\n".join(lines)).stretches == tuple(lines)


def test_of_a_long_text_as_many_stretches_are_sought_spread_evenly() -> None:
    lines = [f"line {number:05} of the letter" for number in range(3 * MOST_STRETCHES)]
    assert said("\n".join(lines)).stretches == tuple(lines[::3])


def test_a_long_line_is_sought_in_parts_and_what_is_too_short_is_not() -> None:
    line = "".join(chr(0x4E00 + number) for number in range(2 * STRETCH))
    assert said(f"{line}\nshort").stretches == (line[:STRETCH], line[STRETCH:])
