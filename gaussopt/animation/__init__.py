"""Animations of motions as SVG, GIF and pages."""
