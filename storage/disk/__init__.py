"""Files and directories, and all system calls. A call completes all of its work or raises StorageError."""
