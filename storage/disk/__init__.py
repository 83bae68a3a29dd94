"""Files and directories: full reads and writes, descriptors that come and go, small files replaced in one step."""
