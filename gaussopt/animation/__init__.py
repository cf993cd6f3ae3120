"""Moving pictures of motions: SVG, GIF, pages."""
