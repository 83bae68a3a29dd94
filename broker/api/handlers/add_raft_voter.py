"""AddRaftVoter (key 80), v0-1: another voter for the metadata quorum. There is none, and each is refused (KIP-853).

INCONSISTENT_CLUSTER_ID; INVALID_REQUEST if no valid voter is named, or no address of it for the controllers' listener;
DUPLICATE_VOTER for this node, whichever directory is named; REQUEST_TIMED_OUT for any other, as in Kafka when the new
voter does not answer a request for its versions. It is answered at once, because no voter is contacted here (decision
0108). Versions: 1 whether to wait until the voter is committed.
"""

from barnabas.broker.metadata.log.quorum import CONTROLLER_LISTENER, check_voter, voter_text
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse


def handle(request: AddRaftVoterRequest, context: RequestContext) -> AddRaftVoterResponse:
    refusal = _refusal(request, context)
    return AddRaftVoterResponse(error_code=refusal.code, error_message=refusal.message)


def _refusal(request: AddRaftVoterRequest, context: RequestContext) -> KafkaError:
    try:
        check_voter(request, context.node.cluster_id, "Add voter request didn't include a valid voter")
    except KafkaError as refusal:
        return refusal
    if CONTROLLER_LISTENER not in {listener.name.upper() for listener in request.listeners}:
        return KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Add voter request didn't include the endpoint for the default listener {CONTROLLER_LISTENER}",
        )
    leadership, new = context.services.catalogue.leadership, voter_text(request.voter_id, request.voter_directory_id)
    if request.voter_id == leadership.node_id:
        voters = voter_text(leadership.node_id, leadership.directory_id)
        return KafkaError(
            ErrorCode.DUPLICATE_VOTER, f"The voter id for {new} is already part of the set of voters [{voters}]."
        )
    return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"New voter {new} is not ready to receive requests")
