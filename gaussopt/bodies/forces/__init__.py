"""Force elements, one file each."""
