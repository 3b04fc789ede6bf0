"""A package that keeps names of events where FlyDSL does, and nothing else."""

import os

__version__ = os.environ.get("STAND_IN_VERSION", "0.5.0")
