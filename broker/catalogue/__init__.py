"""Topics, configs, features and producer ids as records in __cluster_metadata-0."""
