"""Families of physically built steps, one file each."""
