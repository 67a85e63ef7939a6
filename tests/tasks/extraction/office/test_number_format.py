"""Number formats against what Excel shows (ECMA-376 part 1, 18.8.31, and its built-in codes)."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.tasks.extraction.office.number_format import Scalar, shown

MOMENT = dt.datetime(2024, 3, 5, 14, 7, 9)


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (0, "General", "0"),
        (12345678901234, "General", "12345678901234"),
        (0.1 + 0.2, "General", "0.3"),
        (5.0, "General", "5"),
        (-1.5, "General", "-1.5"),
        (True, "General", "TRUE"),
        ("text", "0.00", "text"),
        (0.256, "0%", "26%"),
        (0.2565, "0.00%", "25.65%"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (999, "#,##0", "999"),
        (0, "#,##0", "0"),
        (2.5, "0", "3"),
        (1.005, "0.00", "1.01"),
        (7, "000", "007"),
        (0.5, "#.##", ".5"),
        (1234.5, '"$"#,##0.00_);("$"#,##0.00)', "$1,234.50"),
        (-1234.5, '"$"#,##0.00_);("$"#,##0.00)', "($1,234.50)"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (12, '0" kg"', "12 kg"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "-"_);_(@_)', "-"),
        (12345, "0.00E+00", "1.23E+04"),
        (1500000, '0.0,,"M"', "1.5M"),
        (-0.001, "0.00", "0.00"),
        (-3, "0.0", "-3.0"),
        (5, '"n/a"', "n/a"),
        (MOMENT, "yyyy-mm-dd", "2024-03-05"),
        (MOMENT, "dd/mm/yy", "05/03/24"),
        (MOMENT, "mm-dd-yy", "3/5/2024"),
        (MOMENT, "m/d/yy h:mm", "3/5/2024 14:07"),
        (MOMENT, "mm-dd-yyyy", "03-05-2024"),
        (MOMENT, "d-mmm-yy", "5-Mar-24"),
        (MOMENT, "dddd, d mmmm yyyy", "Tuesday, 5 March 2024"),
        (MOMENT, "h:mm AM/PM", "2:07 PM"),
        (MOMENT, "yyyy-mm-dd h:mm:ss", "2024-03-05 14:07:09"),
        (MOMENT, "mm:ss", "07:09"),
        (MOMENT, '[$-409]d\\. mmm yyyy;@', "5. Mar 2024"),
        (dt.time(9, 5), "h:mm", "9:05"),
        (dt.timedelta(hours=30, minutes=15), "[h]:mm", "30:15"),
        (dt.timedelta(hours=30, minutes=15, seconds=4), "[h]:mm:ss", "30:15:04"),
        (MOMENT, "General", "2024-03-05 14:07:09"),
        (12345678, "000-00-0000", "012-34-5678"),
        (21391234, "00000-0000", "02139-1234"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (5, '[<1]0.0%;0.0" times"', "5.0 times"),
        (0.5, '[<1]0.0%;0.0" times"', "50.0%"),
        (1500, '[>=1000]0.0,"k";[<0]"minus "0;0', "1.5k"),
        (-5, '[>=1000]0.0,"k";[<0]"minus "0;0', "minus 5"),
        (7, '[=1]0" day";0" days"', "7 days"),
        (12345, "##0.0E+0", "12.3E+3"),
        (999960, "##0.0E+0", "1.0E+6"),
        (0.00012, "0.0E-00", "1.2E-04"),
        (1.25, "# ?/?", "1 1/4"),
        (0.5, "# ?/?", "1/2"),
        (2, "# ?/?", "2"),
        (1.3, "# ??/16", "1 5/16"),
        (5.75, "?/?", "23/4"),
        ("M8", '@" bolt"', "M8 bolt"),
        ("open", '0;-0;0;"state: "@', "state: open"),
        ("open", "0.00", "open"),
        (0, "0;-0;;@", ""),
        (7, ";;;", "7"),
        (1234.5, "[$£-809]#,##0.00", "£1,234.50"),
        (1234.5, '_-* #,##0.00\\ "kr"_-', "1,234.50 kr"),
        (44927, "yyyy-mm-dd", "2023-01-01"),
        (1.26, "[h]:mm", "30:14"),
        (dt.timedelta(minutes=95, seconds=7.25), "[mm]:ss.00", "95:07.25"),
        (dt.timedelta(hours=30), "h:mm", "6:00"),
        (dt.datetime(2024, 3, 5, 14, 7, 59, 600000), "h:mm:ss", "14:08:00"),
        (dt.datetime(2024, 3, 5, 14, 7, 59, 600000), "h:mm", "14:07"),
        (MOMENT, "bbbb", "2567"),
        (MOMENT, "mmmmm", "M"),
        (0.00001, "General", "0.00001"),
    ],
)  # fmt: skip
def test_a_value_is_written_as_the_sheet_shows_it(value: Scalar, code: str, expected: str) -> None:
    assert shown(value, code) == expected


PIECES = [
    "0",
    "#",
    ",",
    ".",
    "%",
    "E+",
    '"x"',
    "\\-",
    "_)",
    "* ",
    "[Red]",
    "[$€-407]",
    "[h]",
    ";",
    "yy",
    "m",
    "d",
    "h",
    "s",
]
PIECES += ["# ?/?", "0E+0", "?", "[<1]", "e", "b", "AM/PM", "@", "General", "/", ".00", "[>100]", '"', "\\"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.floats() | st.integers() | st.datetimes() | st.dates() | st.times() | st.timedeltas(),
)
def test_any_code_shows_something(code: str, value: Scalar) -> None:
    assert isinstance(shown(value, code), str)
