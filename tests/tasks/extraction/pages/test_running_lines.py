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
    chapters = [top(page, f"Chapter {1 + page // 5}") for page in range(20)]
    assert len(running_lines(chapters, 20)) == 20


def test_two_pages_are_enough_in_a_short_document() -> None:
    lines = [top(1, "Draft of May"), top(2, "Draft of May"), foot(1, "1"), foot(2, "2"), top(1, "Once", 60.0)]
    assert found(lines, 2) == {"1:Draft of May", "2:Draft of May", "1:1", "2:2"}
