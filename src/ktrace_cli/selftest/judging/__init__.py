"""From what was measured to checks: what holds, what does not, and the figures. No device here."""
