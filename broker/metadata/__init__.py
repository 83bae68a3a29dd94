"""The topics, settings, users and access of the cluster: what a controller keeps."""
