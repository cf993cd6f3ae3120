"""Joints, one file each."""
