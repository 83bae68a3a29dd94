"""What is the same for all groups whose coordinator assigns the partitions: consumer, share and streams groups."""
