"""How much a selftest does: what the program that measures and those who judge both know."""

from __future__ import annotations

from dataclasses import dataclass

from ktrace_cli.trace_file import layout

WORDS = 256
"""Of a wave's region, under the interposer."""
ROOM = WORDS - layout.REGION_HEADER // layout.WORD.itemsize
"""Of them, those that hold events."""
COST_MARKERS = ("mark", "mark_payload", "push_pop", "range")


@dataclass(frozen=True)
class Settings:
    """What to measure on which device."""

    device_index: int = 0
    is_quick: bool = False
    is_software: bool = False
    tries_polling: bool = False
    """Also try kernels whose markers wait for their clock alone."""

    @property
    def pattern_rounds(self) -> int:
        """Rounds of the pattern kernel; all of its words fit into a region."""
        return 4 if self.is_quick else 16

    @property
    def iterations(self) -> int:
        """Rounds of the loops whose markers are timed, in a wave that has the device for itself."""
        return 32 if self.is_quick else 100

    @property
    def crowded_iterations(self) -> int:
        """The same where the device is full: of ten thousand waves each word takes 80 KB."""
        return 8 if self.is_software else 24

    @property
    def repetitions(self) -> int:
        """Launches of each of these loops. Modelled times are the same each time."""
        return 1 if self.is_software else 3 if self.is_quick else 5

    @property
    def clock_groups(self) -> int:
        """Groups of four readings of each clock."""
        return 128 if self.is_quick else 512

    @property
    def clock_spins(self) -> int:
        """How long waves wait between two readings of both clocks."""
        return (500 if self.is_quick else 2_000) * (1 if self.is_software else 20)

    @property
    def skew_rounds(self) -> int:
        """Questions to each XCC."""
        return 16 if self.is_quick else 64

    @property
    def skew_polls(self) -> int:
        """Looks into memory until a wait is given up."""
        return 50_000 if self.is_software else 500_000

    @property
    def batches(self) -> int:
        """Of launches that are timed together."""
        return 5 if self.is_quick else 20

    @property
    def batch(self) -> int:
        """Launches in a batch."""
        return 32 if self.is_quick else 64

    @property
    def copy_sizes(self) -> tuple[int, ...]:
        """Bytes."""
        sizes = (1 << 16, 1 << 20, 1 << 24, 1 << 26)
        return sizes[:2] if self.is_quick else sizes[:3] if self.is_software else sizes

    @property
    def copies(self) -> int:
        """Of each size."""
        return 2 if self.is_software else 8
