"""Reports: a document of sections, rendered as self-contained HTML and as Markdown with accompanying files."""
