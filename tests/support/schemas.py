"""JSON schemas as tests use them."""

from __future__ import annotations

from typing import Any


def strict(schema: Any) -> Any:
    """The same schema, in which keys that it does not name are wrong."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: strict(part) for key, part in schema.items()}
    if "properties" in schema:
        schema["unevaluatedProperties"] = False
    return schema
