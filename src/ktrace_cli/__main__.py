"""`python -m ktrace_cli` is `ktrace`."""

from ktrace_cli.app import main

main()
