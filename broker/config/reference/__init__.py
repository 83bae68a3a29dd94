"""Descriptions of the keys: for DescribeConfigs, error messages and docs/config.md."""
