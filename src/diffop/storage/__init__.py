"""Files and folders that are on the disk as a whole or not at all, and arrays in them."""
