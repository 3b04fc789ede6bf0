"""Whether ktrace works on the device at hand, and what it costs there: measured, then judged."""
