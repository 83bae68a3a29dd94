"""The bit sets of authorized operations that a broker without an authorizer returns: all operations."""

from barnabas.broker.security.session.operations import Resource, allowed_operations

TOPIC_OPERATIONS = allowed_operations(Resource.TOPIC)
CLUSTER_OPERATIONS = allowed_operations(Resource.CLUSTER)
GROUP_OPERATIONS = allowed_operations(Resource.GROUP)
NOT_REQUESTED = -0x8000_0000
