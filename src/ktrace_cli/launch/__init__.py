"""Run the user's program under the interposer: options, environment, child, exit status."""
