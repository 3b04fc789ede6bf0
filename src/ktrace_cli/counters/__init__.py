"""Reads hardware counters that rocprofv3 collected and derives cache and memory figures."""
