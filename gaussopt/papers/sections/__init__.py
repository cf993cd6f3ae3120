"""Sections of the report that belong to no single paper."""
