"""A kernel as machine code: instructions, control flow, phases, occupancy."""
