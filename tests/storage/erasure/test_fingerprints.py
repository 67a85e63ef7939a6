"""A string is found wherever it stands, and none that does not."""

from hypothesis import given
from hypothesis import strategies as st

from pincite.storage.erasure import fingerprints
from pincite.storage.erasure.fingerprints import SHORTEST, Seeker, fingerprint

_STRINGS = st.lists(st.text("ab", min_size=SHORTEST, max_size=40).map(str.encode), min_size=1, max_size=6)


@given(_STRINGS, st.text("ab", max_size=400).map(str.encode))
def test_what_is_found_is_what_plain_search_finds(strings: list[bytes], data: bytes) -> None:
    sought = {one: ("key", fingerprint(one, "key")) for one in strings}
    found = Seeker(sought.values()).seek(memoryview(data))
    assert found == {both for one, both in sought.items() if one in data}


def test_a_string_is_found_at_every_place_around_the_end_of_a_block() -> None:
    for string in (b"12345678", b"a string of more than sixteen bytes"):
        sought = ("key", fingerprint(string, "key"))
        for before in range(fingerprints._BLOCK - len(string) - 1, fingerprints._BLOCK + 2, 3):
            data = bytes(before) + string + bytes(5)
            assert Seeker([sought]).seek(memoryview(data)) == {sought}
