"""Files of other codes, one module a format, and the reader that tells formats by their content."""
