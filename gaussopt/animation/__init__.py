"""Animations of motions: SVG, GIF, pages."""
