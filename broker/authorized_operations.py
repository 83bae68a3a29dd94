"""The bit sets that say what a client may do, as a broker without an authorizer answers them: everything.

Bit n stands for Kafka's AclOperation n: 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action,
10 describe configs, 11 alter configs, 12 idempotent write.
"""


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS = _bits(3, 4, 5, 6, 7, 8, 10, 11)
CLUSTER_OPERATIONS = _bits(5, 7, 8, 9, 10, 11, 12)
GROUP_OPERATIONS = _bits(3, 6, 8, 10, 11)
NOT_ASKED = -0x8000_0000
