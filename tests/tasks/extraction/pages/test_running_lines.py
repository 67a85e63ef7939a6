"""Running headers, footers and page numbers are told by repetition, not by their place."""

from pincite.tasks.extraction.pages.running_lines import EdgeLine, running_lines


def found(lines: list[EdgeLine], pages: int) -> set[str]:
    return {f"{lines[i].page}:{lines[i].text}" for i in running_lines(lines, pages)}


def top(page: int, text: str, distance: float = 30.0) -> EdgeLine:
    return EdgeLine(page, text, True, distance)


def foot(page: int, text: str, distance: float = 25.0) -> EdgeLine:
    return EdgeLine(page, text, False, distance)


def test_a_line_that_returns_at_its_place_is_running() -> None:
    lines = [top(page, "Annual report 1913") for page in range(1, 6)]
    assert len(running_lines(lines, 5)) == 5


def test_a_line_that_occurs_once_or_at_changing_places_stays() -> None:
    once = [top(1, "Introduction")]
    moving = [top(page, "Introduction", 30.0 + 40 * page) for page in range(1, 6)]
    assert not running_lines(once, 9)
    assert not running_lines(moving, 5)


def test_page_numbers_grow_with_the_page() -> None:
    for text in ("{}", "- {} -", "Page {} of 9", "{} / 9", "Seite {}"):
        lines = [foot(page, text.format(page + 3)) for page in range(1, 4)]
        assert len(running_lines(lines, 9)) == 3, text
    roman = [foot(page, text) for page, text in enumerate(("i", "ii", "iii", "iv"), 1)]
    assert len(running_lines(roman, 20)) == 4


def test_numbers_that_do_not_follow_the_pages_stay() -> None:
    lines = [foot(page, text) for page, text in enumerate(("1913", "42", "7", "8800"), 1)]
    assert not running_lines(lines, 4)


def test_headings_that_count_chapters_stay() -> None:
    lines = [top(page, f"Chapter {page}") for page in range(1, 6)]
    assert not running_lines(lines, 5)


def test_headers_of_left_and_right_pages_and_of_each_chapter_are_running() -> None:
    lines = [top(page, "The harbour board" if page % 2 else "Annual report") for page in range(1, 11)]
    assert len(running_lines(lines, 10)) == 10
    titles = ("Of seals", "Of bearings", "Of motors", "Of valves")
    chapters = [top(page, titles[(page - 1) // 5]) for page in range(1, 21)]
    kept = {f"{page}:{titles[(page - 1) // 5]}" for page in (1, 6, 11, 16)}
    assert {f"{one.page}:{one.text}" for one in chapters} - found(chapters, 20) == kept, "the first of each"


def test_what_identifies_a_page_stays() -> None:
    invoices = [top(page, f"Invoice {4710 + page}") for page in range(1, 9)]
    early = [top(page, f"Rechnung Nr. {page + 2}") for page in range(1, 9)]
    sums = [foot(page, "Total 120.00 EUR", 60.0) for page in (1, 2, 4, 7)]
    assert not running_lines(invoices, 8) and not running_lines(early, 8) and not running_lines(sums, 8)
    names = [top(page, "Customer: Miller & Sons") for page in (3, 4, 5)]
    assert found(names, 8) == {"4:Customer: Miller & Sons", "5:Customer: Miller & Sons"}


def test_a_title_with_the_page_number_is_running() -> None:
    lines = [top(page, f"Handbook of pumps {page + 4}") for page in range(1, 9)]
    assert len(running_lines(lines, 8)) == 8


def test_two_pages_are_enough_in_a_short_document_whose_first_line_stays() -> None:
    lines = [top(1, "Draft of May"), top(2, "Draft of May"), foot(1, "1"), foot(2, "2"), top(1, "Once", 60.0)]
    assert found(lines, 2) == {"2:Draft of May", "1:1", "2:2"}
