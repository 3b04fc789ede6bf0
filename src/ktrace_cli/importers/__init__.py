"""Other tools' files to records or model."""
