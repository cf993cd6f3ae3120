"""The claims of the papers, one file each: the file's `claim` says what is claimed and how it is checked."""
