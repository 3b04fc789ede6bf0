"""What a timeline lacks, as counts and in words."""

from __future__ import annotations

from dataclasses import dataclass

from ktrace_cli.model.counts import count_of, counted, sentences


@dataclass(frozen=True)
class Losses:
    """What is missing, repaired or assumed. All counts; every command reports those above 0."""

    torn_bytes: int = count_of(
        "byte at the file's end is no whole chunk", "bytes at the file's end are no whole chunk"
    )
    skipped_bytes: int = count_of("damaged byte was skipped", "damaged bytes were skipped")
    damaged_chunks: int = count_of("chunk failed its checksum", "chunks failed their checksum")
    missing_chunks: int = count_of("chunk is missing", "chunks are missing")
    unknown_chunks: int = count_of(
        "chunk of an unknown type was skipped", "chunks of an unknown type were skipped"
    )
    not_closed: int = count_of(
        "recording was not closed, as its process ended by exec or a signal (as workers of a pool"
        " do), or the file was cut: what it holds is whole; whether there was more is not known",
        "recordings were not closed, as their processes ended by exec or a signal (as workers of a"
        " pool do), or the files were cut: what they hold is whole; whether there was more is not"
        " known",
    )
    untraced_launches: int = count_of(
        "launch of an annotated kernel was not traced",
        "launches of annotated kernels were not traced",
    )
    unread_code_objects: int = count_of(
        "code object could not be read", "code objects could not be read"
    )
    unreadable_dispatches: int = count_of(
        "dispatch could not be decoded", "dispatches could not be decoded"
    )
    failed_dispatches: int = count_of(
        "dispatch ended with a HIP error", "dispatches ended with a HIP error"
    )
    missing_waves: int = count_of(
        "wave has no record: it never began, or all slots were taken",
        "waves have no record: they never began, or all slots were taken",
    )
    unfinished_dispatches: int = count_of(
        "dispatch was recorded without its end",
        "dispatches were recorded without their ends",
    )
    unfinished_waves: int = count_of("wave never reached its end", "waves never reached their end")
    torn_waves: int = count_of("wave has a damaged header", "waves have a damaged header")
    clamped_waves: int = count_of(
        "wave ended before its begin or its last word",
        "waves ended before their begin or their last word",
    )
    moved_waves: int = count_of(
        "wave ended on other hardware than it began on: its clock may have changed",
        "waves ended on other hardware than they began on: their clocks may have changed",
    )
    dropped_words: int = count_of(
        "word did not fit its wave's region", "words did not fit their wave's region"
    )
    truncated_waves: int = count_of("wave filled its region", "waves filled their region")
    overwritten_words: int = count_of(
        "word was overwritten by a later one (`--full ring`)",
        "words were overwritten by later ones (`--full ring`)",
    )
    overwritten_begins: int = count_of(
        "end has lost its begin, which was overwritten",
        "ends have lost their begin, which was overwritten",
    )
    torn_words: int = count_of("word is not readable", "words are not readable")
    clamped_words: int = count_of(
        "word has a time that contradicts those around it",
        "words have a time that contradicts those around them",
    )
    cut_bytes: int = count_of(
        "byte at the file's end is no whole record", "bytes at the file's end are no whole record"
    )
    cut_files: int = count_of(
        "file ends in the middle: it is read up to its last whole record",
        "files end in the middle: they are read up to their last whole record",
    )
    repaired_texts: int = count_of(
        "place in the file broke the rules of its format and was repaired",
        "places in the file broke the rules of its format and were repaired",
    )
    unread_records: int = count_of(
        "record of the file cannot be read and is left out",
        "records of the file cannot be read and are left out",
    )
    undated_records: int = count_of(
        "record of the file has no time and is left out",
        "records of the file have no time and are left out",
    )
    unshown_records: int = count_of(
        "record of the file is of a kind that is not shown, or of no wave",
        "records of the file are of kinds that are not shown, or of no wave",
    )
    unclaimed_waves: int = count_of(
        "wave is there that no counter of the buffer knows",
        "waves are there that no counter of the buffer knows",
    )
    misplaced_waves: int = count_of(
        "wave names another place than that of its slot, which counts",
        "waves name other places than those of their slots, which count",
    )
    uncalibrated_waves: int = count_of(
        "wave has read both clocks only once: its cycles are taken as long as others' are",
        "waves have read both clocks only once: their cycles are taken as long as others' are",
    )
    unwritten_events: int = count_of(
        "event was counted by its wave, but is not there",
        "events were counted by their waves, but are not there",
    )
    uncounted_events: int = count_of(
        "event is there that its wave did not count",
        "events are there that their waves did not count",
    )
    unknown_kinds: int = count_of(
        "event is of an unknown kind: it is shown as a mark",
        "events are of an unknown kind: they are shown as marks",
    )
    unknown_payloads: int = count_of(
        "payload is of an unknown type: its bits are shown as a number",
        "payloads are of an unknown type: their bits are shown as numbers",
    )
    unnamed_events: int = count_of(
        "event has an id without a name", "events have an id without a name"
    )
    unclosed_slices: int = count_of("range has no end", "ranges have no end")
    stray_ends: int = count_of("end has no begin", "ends have no begin")
    stray_values: int = count_of("payload belongs to no event", "payloads belong to no event")
    clamped_slices: int = count_of(
        "range began before its wave or ended before its begin",
        "ranges began before their wave or ended before their begin",
    )
    deep_slices: int = count_of(
        "range is in more than 65,535 others: it is shown on an `overlap` lane",
        "ranges are in more than 65,535 others: they are shown on `overlap` lanes",
    )
    long_gaps: int = count_of(
        "gap is longer than the 32-bit clock can tell",
        "gaps are longer than the 32-bit clock can tell",
    )
    out_of_window: int = count_of(
        "wave lies outside its dispatch's host times",
        "waves lie outside their dispatch's host times",
    )
    unknown_core_clocks: int = count_of(
        "device has a core clock of unknown rate: all that its waves recorded is at their begin",
        "devices have core clocks of unknown rate: all that their waves recorded is at their begin",
    )
    unfitted_waves: int = count_of(
        "wave has clock readings that contradict each other or its neighbours': they count for"
        " nothing, and its times are as its begin says",
        "waves have clock readings that contradict each other or their neighbours': they count for"
        " nothing, and their times are as their begins say",
    )
    misfit_waves: int = count_of(
        "wave has clock readings that are off their clock's line by more than 10 ticks of the"
        " reference clock: its times may be wrong by as much",
        "waves have clock readings that are off their clock's line by more than 10 ticks of the"
        " reference clock: their times may be wrong by as much",
    )
    unmatched_edges: int = count_of(
        "end of an arrow has no other end", "ends of arrows have no other end"
    )
    uncertain_edges: int = count_of(
        "end of an arrow is left out: its workgroup has lost waves or words, so that it is not"
        " known where the arrow leads",
        "ends of arrows are left out: their workgroups have lost waves or words, so that it is not"
        " known where these arrows lead",
    )
    unknown_edges: int = count_of(
        "edge joins nothing: no range has either of its names; `ktrace inspect` shows which",
        "edges join nothing: no range has their names; `ktrace inspect` shows which",
    )
    backward_arrows: int = count_of(
        "arrow would go back in time and is left out",
        "arrows would go back in time and are left out",
    )

    @property
    def is_damaged(self) -> bool:
        """Whether the file is not as it was written."""
        return bool(
            self.torn_bytes or self.skipped_bytes or self.damaged_chunks or self.missing_chunks
        )

    def counted(self) -> dict[str, int]:
        """Return the counts above 0, in order of the file, the launch, the wave, the word."""
        return counted(self)

    def sentences(self) -> list[str]:
        """Return one line of words for each count above 0."""
        return sentences(self)
