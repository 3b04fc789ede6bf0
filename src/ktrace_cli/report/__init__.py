"""Runs as a web site of files: pages, timelines and JSON, fit to be an artifact of CI."""
