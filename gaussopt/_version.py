"""The version of gaussopt."""

__version__ = "0.1.0"
