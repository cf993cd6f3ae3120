"""A restricted Python as machine code; knows no mechanics."""
