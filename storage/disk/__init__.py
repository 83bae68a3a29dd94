"""Files and directories, and all calls of the operating system. A call does all it says or raises StorageError."""
