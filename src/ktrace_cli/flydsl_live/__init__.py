"""FlyDSL's own tracer in a program that `ktrace run` starts: its switches, and its names."""
