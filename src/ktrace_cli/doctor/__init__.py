"""What hinders tracing on this machine, or limits it, and what to do about it."""
