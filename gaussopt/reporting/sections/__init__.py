"""Sections that are common to several reports."""
