"""Records and code objects to the model: clocks, names, pairing, lanes, flows, losses."""
