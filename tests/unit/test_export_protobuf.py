"""Protocol buffer fields as bytes."""

from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.export.protobuf import message, number, text, varint


def test_varints_have_seven_bits_per_byte() -> None:
    assert varint(0) == b"\x00"
    assert varint(300) == b"\xac\x02"
    assert varint(-1) == b"\xff" * 9 + b"\x01"
    assert number(8, 1) == b"\x40\x01"
    assert text(2, "é") == b"\x12\x02\xc3\xa9"


@given(st.integers(0, (1 << 64) - 1))
def test_a_varint_is_read_again(value: int) -> None:
    content = varint(value)

    assert sum((byte & 0x7F) << 7 * place for place, byte in enumerate(content)) == value
    assert [byte > 0x7F for byte in content] == [True] * (len(content) - 1) + [False]


def test_a_message_says_how_long_it_is() -> None:
    assert message(1, number(1, 5), text(2, "a" * 200))[:5] == b"\x0a\xcd\x01\x08\x05"
