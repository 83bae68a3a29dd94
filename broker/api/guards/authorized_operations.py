"""The bit sets that say what a client may do, as a broker without an authorizer answers them: everything."""

from barnabas.broker.security.session.operations import Resource, allowed_operations

TOPIC_OPERATIONS = allowed_operations(Resource.TOPIC)
CLUSTER_OPERATIONS = allowed_operations(Resource.CLUSTER)
GROUP_OPERATIONS = allowed_operations(Resource.GROUP)
NOT_ASKED = -0x8000_0000
