"""Documents as HTML pages: formulas, tables, embedded figures."""
