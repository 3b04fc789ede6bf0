"""Error codes of the software device: names, texts, and the last error of a thread."""

import ctypes
import threading

import pytest

from support.hip_calls import (
    INVALID_VALUE,
    NOT_READY,
    SUCCESS,
    call,
    load_hip,
    out_pointer,
)


def take_last_error() -> int:
    return int(load_hip().hipGetLastError())


@pytest.fixture(autouse=True)
def no_earlier_error() -> None:
    take_last_error()


def test_every_code_has_the_name_that_hip_python_gives_it() -> None:
    bindings = pytest.importorskip("rocm.bindings.hip")
    codes = {member.name: int(member) for member in bindings.hipError_t}

    names = {name: load_hip().hipGetErrorName(code).decode() for name, code in codes.items()}

    assert names == {name: name for name in codes}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "no error"),
        (1, "invalid argument"),
        (2, "out of memory"),
        (209, "no kernel image is available for execution on the device"),
        (700, "an illegal memory access was encountered"),
        (719, "unspecified launch failure"),
    ],
)
def test_the_text_of_an_error_is_hips(code: int, text: str) -> None:
    assert load_hip().hipGetErrorString(code).decode() == text


def test_an_unknown_code_is_named_unknown() -> None:
    assert load_hip().hipGetErrorName(12345) == b"hipErrorUnknown"
    assert load_hip().hipGetErrorString(12345) == b"unknown error"


def test_the_driver_calls_store_the_name_and_refuse_an_unknown_code() -> None:
    name = ctypes.c_char_p()

    call("hipDrvGetErrorName", 719, ctypes.byref(name))

    assert name.value == b"hipErrorLaunchFailure"
    assert load_hip().hipDrvGetErrorName(12345, ctypes.byref(name)) == INVALID_VALUE
    assert load_hip().hipDrvGetErrorString(719, None) == INVALID_VALUE


def test_the_last_error_is_taken_once() -> None:
    assert load_hip().hipSetDevice(77) == 101

    assert take_last_error() == 101
    assert take_last_error() == SUCCESS


def test_peeking_leaves_the_last_error_in_place() -> None:
    assert load_hip().hipSetDevice(77) == 101

    assert load_hip().hipPeekAtLastError() == 101
    assert load_hip().hipPeekAtLastError() == 101


def test_a_call_that_succeeds_does_not_erase_an_earlier_failure() -> None:
    assert load_hip().hipSetDevice(77) == 101

    call("hipFree", out_pointer("hipMalloc", 64))

    assert take_last_error() == 101


def test_work_that_is_not_done_yet_is_no_failure() -> None:
    stream, data = out_pointer("hipStreamCreate"), out_pointer("hipMalloc", 1 << 20)
    call("hipMemsetAsync", data, 0, 1 << 20, stream)

    assert load_hip().hipStreamQuery(stream) == NOT_READY

    assert load_hip().hipPeekAtLastError() == SUCCESS
    assert load_hip().hipStreamQuery(stream) == NOT_READY
    assert load_hip().hipExtGetLastError() == NOT_READY
    assert take_last_error() == SUCCESS
    call("hipStreamDestroy", stream)
    call("hipFree", data)


def test_the_answer_of_the_last_call_is_told_apart_from_the_last_failure() -> None:
    assert load_hip().hipSetDevice(77) == 101
    of_the_failure = load_hip().hipExtGetLastError()
    assert load_hip().hipSetDevice(77) == 101
    call("hipSetDevice", 0)

    of_the_success = load_hip().hipExtGetLastError()

    assert (of_the_failure, of_the_success) == (101, SUCCESS)
    assert take_last_error() == 101


def test_the_last_error_is_the_threads_own() -> None:
    seen: list[int] = []
    assert load_hip().hipSetDevice(77) == 101

    thread = threading.Thread(target=lambda: seen.append(take_last_error()))
    thread.start()
    thread.join()

    assert seen == [SUCCESS]
    assert take_last_error() == 101
