"""What the server of `ktrace view` gives to whom."""

import http.client
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.viewer.handler import Site
from ktrace_cli.viewer.perfetto_ui import Look, hosted_site, offline_site
from ktrace_cli.viewer.server import Server, serving

HOSTED = "https://ui.perfetto.dev"
CONTENT = bytes(range(256)) * 20


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "a run #1.pftrace.gz"
    path.write_bytes(CONTENT)
    (tmp_path / "secret").write_text("secret")
    return path


@pytest.fixture
def hosted(trace: Path) -> Iterator[Server]:
    with serving(hosted_site(trace), (0,)) as server:
        yield server


@pytest.fixture
def offline(trace: Path) -> Iterator[Server]:
    with serving(offline_site(trace, trace.name), (0,)) as server:
        yield server


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = dict(response.getheaders())
        self.content = response.read()


def ask(
    server: Server, path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        connection.request(method, path, headers={"Origin": HOSTED, **(headers or {})})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def test_the_hosted_ui_may_read_the_trace(hosted: Server) -> None:
    answer = ask(hosted, hosted.site.trace)

    assert (answer.status, answer.content) == (200, CONTENT)
    assert answer.headers["Access-Control-Allow-Origin"] == HOSTED
    assert answer.headers["Content-Length"] == "5120"
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_link_leads_to_the_hosted_ui(hosted: Server) -> None:
    answer = ask(hosted, hosted.site.entry)

    assert hosted.link == f"http://127.0.0.1:{hosted.server_port}{hosted.site.entry}"
    assert answer.status == 302
    assert answer.headers["Location"] == (
        f"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001{hosted.site.trace}"
    )
    assert not hosted.wait_for_fetch(0)


def test_the_link_leads_to_the_served_ui_also_through_a_tunnel(offline: Server) -> None:
    answer = ask(offline, offline.site.entry, headers={"Host": "localhost:1234"})

    assert answer.status == 302
    assert answer.headers["Location"] == f"/#!/?url=http://localhost:1234{offline.site.trace}"


def test_the_address_of_the_hosted_ui_says_nothing_of_the_recording(trace: Path) -> None:
    look = Look(("dispatch 1",), 1_700_000_000, 1_800_000_000)
    with serving(hosted_site(trace, look), (0,)) as server:
        address = ask(server, server.site.entry).headers["Location"]

    assert address == (
        f"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001{server.site.entry}/ktrace"
        f"{look.commands()}"
    )


def test_the_served_ui_is_told_name_and_time_of_the_recording(trace: Path) -> None:
    look = Look(("dispatch 1",), 1_700_000_000, 1_800_000_000)
    with serving(offline_site(trace, trace.name, look), (0,)) as server:
        address = ask(server, server.site.entry).headers["Location"]
        host = f"127.0.0.1:{server.server_port}"

    assert address == (
        f"/#!/?url=http://{host}{server.site.entry}/a_run_1.pftrace.gz"
        f"{look.commands()}&visStart=1700000000&visEnd=1800000000"
    )


def test_a_browser_may_ask_first_whether_the_hosted_ui_may_read(hosted: Server) -> None:
    headers = {
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Private-Network": "true",
    }

    answer = ask(hosted, hosted.site.trace, "OPTIONS", headers)

    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == HOSTED
    assert answer.headers["Access-Control-Allow-Private-Network"] == "true"
    assert not hosted.wait_for_fetch(0)


def test_the_path_of_a_trace_cannot_be_guessed(trace: Path) -> None:
    first, second = (hosted_site(trace).trace for _ in range(2))

    assert first != second
    assert len(first.split("/")[1]) >= 20


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/a%20run%20%231.pftrace.gz",
        "/a_run_1.pftrace.gz",
        "/secret",
        "/..%2fsecret",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/%2e%2e/secret",
        "/status",
    ],
)
def test_only_the_trace_is_served_to_the_hosted_ui(hosted: Server, path: str) -> None:
    answer = ask(hosted, path)

    assert answer.status == 404
    assert b"secret" not in answer.content


@pytest.mark.parametrize("suffix", ["/../secret", "/secret", "/"])
def test_nothing_lies_below_or_beside_the_trace(hosted: Server, suffix: str) -> None:
    folder = hosted.site.trace.rpartition("/")[0]

    assert ask(hosted, hosted.site.trace + suffix).status == 404
    assert ask(hosted, folder + suffix).status == 404
    assert ask(hosted, f"/x{folder}").status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_written(hosted: Server, method: str) -> None:
    assert ask(hosted, hosted.site.trace, method).status == 501


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9001", "127.0.0.1.evil.example"])
def test_a_page_that_makes_its_own_name_lead_here_reads_nothing(hosted: Server, host: str) -> None:
    assert ask(hosted, hosted.site.trace, headers={"Host": host}).status == 404


@pytest.mark.parametrize("host", ["127.0.0.1:9002", "localhost", "localhost:1234"])
def test_a_tunnel_may_have_another_port(hosted: Server, host: str) -> None:
    assert ask(hosted, hosted.site.trace, headers={"Host": host}).content == CONTENT


def test_head_tells_the_size_and_is_no_fetch(hosted: Server) -> None:
    answer = ask(hosted, hosted.site.trace, "HEAD")

    assert (answer.status, answer.content) == (200, b"")
    assert answer.headers["Content-Length"] == "5120"
    assert not hosted.wait_for_fetch(0)


def test_a_part_is_sent_as_a_part_and_the_last_one_completes_the_fetch(hosted: Server) -> None:
    first = ask(hosted, hosted.site.trace, headers={"Range": "bytes=0-99"})
    is_fetched = hosted.wait_for_fetch(0)
    rest = ask(hosted, hosted.site.trace, headers={"Range": "bytes=100-"})

    assert (first.status, first.headers["Content-Range"]) == (206, "bytes 0-99/5120")
    assert not is_fetched
    assert (rest.status, rest.headers["Content-Range"]) == (206, "bytes 100-5119/5120")
    assert first.content + rest.content == CONTENT
    assert hosted.wait_for_fetch(10)


def test_a_part_behind_the_end_is_refused(hosted: Server) -> None:
    answer = ask(hosted, hosted.site.trace, headers={"Range": "bytes=5120-"})

    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */5120")
    assert not hosted.wait_for_fetch(0)


def test_a_fetch_ends_the_wait(hosted: Server) -> None:
    asking = threading.Thread(target=ask, args=(hosted, hosted.site.trace))

    asking.start()

    assert hosted.wait_for_fetch(10)
    asking.join()


def test_a_transfer_that_has_begun_is_waited_for_and_one_that_breaks_off_is_none(
    tmp_path: Path,
) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 30)  # more than what a socket holds
    with serving(Site({"/large": large}, "/large", "/", str), (0,)) as server:
        waiting: list[bool] = []
        waiter = threading.Thread(target=lambda: waiting.append(server.wait_for_fetch(0.2)))
        with socket.create_connection(("127.0.0.1", server.server_port)) as reader:
            reader.sendall(b"GET /large HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert reader.recv(4) == b"HTTP"
            waiter.start()
            waiter.join(0.5)

            assert waiter.is_alive()
        waiter.join(10)

    assert waiting == [False]


def test_the_perfetto_ui_is_served_beside_the_trace(offline: Server) -> None:
    page = ask(offline, "/")
    script = ask(offline, "/service_worker.js")

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"Perfetto UI" in page.content
    assert (script.status, script.headers["Content-Type"]) == (200, "text/javascript")
    assert ask(offline, offline.site.trace).content == CONTENT


def test_pages_elsewhere_may_not_read_what_is_served_offline(offline: Server) -> None:
    answer = ask(offline, offline.site.trace)

    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "Access-Control-Allow-Private-Network" not in ask(offline, "/", "OPTIONS").headers


def test_the_served_ui_may_talk_to_nobody_else(offline: Server) -> None:
    assert ask(offline, "/").headers["Content-Security-Policy"] == (
        "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"
    )


@pytest.mark.parametrize("path", ["/v52.0-6b9586def/", "/trace_processor/..", "/secret", "/../x"])
def test_the_served_ui_lists_no_folder_and_leaves_none(offline: Server, path: str) -> None:
    assert ask(offline, path).status == 404


def test_a_file_that_has_vanished_is_not_found(hosted: Server, trace: Path) -> None:
    trace.unlink()

    assert ask(hosted, hosted.site.trace).status == 404


def test_the_first_port_that_is_free_is_taken(trace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]

        with serving(hosted_site(trace), (taken, 0)) as server:
            assert server.server_port != taken
            assert ask(server, server.site.trace).content == CONTENT


def test_a_port_that_is_taken_is_an_error_that_names_who_has_it(trace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]

        with pytest.raises(KtraceError) as caught, serving(hosted_site(trace), (taken,)):
            pass

    assert caught.value.what == f"port {taken} of 127.0.0.1 is taken"
    assert "(process " in caught.value.why
    assert "--offline" in caught.value.fix


def test_the_port_is_free_again_afterwards(trace: Path) -> None:
    with serving(hosted_site(trace), (0,)) as server:
        port = server.server_port

    with serving(hosted_site(trace), (port,)) as server:
        assert server.server_port == port


@pytest.mark.parametrize("host", ["[", "[::1", "127.0.0.1:9001:1", "a@localhost", "", "localhost:"])
def test_a_host_that_is_none_is_refused(hosted: Server, host: str) -> None:
    assert ask(hosted, hosted.site.trace, headers={"Host": host}).status == 404


RAW = st.one_of(st.binary(max_size=80), st.text(max_size=40).map(str.encode))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(method=RAW, target=RAW, header=RAW, value=RAW)
def test_whatever_a_client_sends_the_server_goes_on(
    hosted: Server,
    capfd: pytest.CaptureFixture[str],
    method: bytes,
    target: bytes,
    header: bytes,
    value: bytes,
) -> None:
    for request in (
        method + b" " + target + b" HTTP/1.1\r\n" + header + b": " + value + b"\r\n\r\n",
        b"GET " + target + b" HTTP/1.0\r\nHost: " + value + b"\r\nRange: " + header + b"\r\n\r\n",
        b"GET " + hosted.site.trace.encode() + b" HTTP/1.0\r\nHost: " + value + b"\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", hosted.server_port), timeout=10) as client:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while client.recv(65536):
                    pass

    assert ask(hosted, hosted.site.trace, "HEAD").status == 200
    assert capfd.readouterr().err == ""
