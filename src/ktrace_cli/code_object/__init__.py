"""What a code object says: ELF, notes, metadata, bundles."""
