"""Documents as pages: formulas, tables, embedded figures."""
