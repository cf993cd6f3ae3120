"""Safe reading and writing of files: NetCDF with a checksum, and compressed files from other programs."""
