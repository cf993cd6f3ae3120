"""Sections that several reports share."""
