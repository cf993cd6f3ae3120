"""Families of steps of physical systems, one file each."""
