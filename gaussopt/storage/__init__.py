"""Files that are read and written with care: NetCDF with a checksum, packed files of others."""
