"""Documents as pages: formulas, tables, figures inline."""
