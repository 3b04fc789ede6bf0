"""What words and the model tell of the unit that numbered an event."""

LOW_HALF = 0xFFFFFFFF
"""Of a unit key."""
