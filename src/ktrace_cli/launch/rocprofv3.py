"""Keys of rocprofv3's input files that ask for what `ktrace run` does not do."""

from __future__ import annotations

import re

_ELSEWHERE = "remove it here, and collect it with rocprofv3 in a run of its own"
# Patterns of keys, what they ask for, and what helps.
_KEYS = (
    (
        r"(pmc|spm|pc_sampling|replay|kernel_replay|extra_counters).*",
        "hardware counters and samples, which `ktrace run` does not collect",
        "remove it here; `ktrace pmc -- PROGRAM` counts in runs of its own",
    ),
    (
        r"(att|advanced_thread_trace)(_.*)?",
        "instruction traces, which `ktrace run` does not collect",
        "remove it here; `ktrace att -- PROGRAM` traces instructions in a run of its own",
    ),
    (
        r".*_trace(_.*)?|kernel_rename|group_by_queue|selected_regions.*",
        "traces of the host's calls and of whole kernels, which ktrace does not collect",
        _ELSEWHERE,
    ),
    (
        r"stats|summary.*|mangled_kernels|truncate_kernels|perfetto_.*|output_config",
        "how it shows its own data",
        "remove it; `ktrace summary` and `ktrace decode` show a recording",
    ),
    (
        r"preload|disable_signal_handlers|process_sync|minimum_output_data|agent_index|list_avail|"
        r"list_metrics|profile_mpi_ranks|mpi_world_.*|rocm_root|sdk_.*|pid|attach.*|benchmark_mode",
        "how it runs a program",
        "remove it: ktrace has nothing of the kind",
    ),
)


def key_of_rocprofv3(key: str) -> tuple[str, str] | None:
    """Say what a key means to rocprofv3, and what to do; None for a key that is not its own."""
    for pattern, what, fix in _KEYS:
        if re.fullmatch(pattern, key):
            return what, fix
    return None
