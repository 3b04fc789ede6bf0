"""As FlyDSL, its tracer's names are below `flydsl.expr`."""
