"""The topics, settings, users and access control of the cluster: the state that a controller stores."""
