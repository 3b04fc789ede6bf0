"""What the rules make of all evidence: hotspots with a cause, a fix and a priority."""
