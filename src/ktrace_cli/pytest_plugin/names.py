"""Names that the plugin needs before it loads anything else of ktrace."""

MARKER = "ktrace"
SESSION_DIR = "KTRACE_SESSION_DIR"
DEVICES = ("auto", "soft", "hardware")
