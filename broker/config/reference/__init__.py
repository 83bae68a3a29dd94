"""What the keys mean, in sentences: for DescribeConfigs, for error messages and for docs/config.md."""
