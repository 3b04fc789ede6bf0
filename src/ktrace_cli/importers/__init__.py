"""Other tools' files as host traces. Knows how they are written; not how a trace is drawn."""
