"""Files of other codes, one module per format, and the reader that recognises formats by their content."""
