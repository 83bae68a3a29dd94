"""RemoveRaftVoter (key 81), v0: one voter less in the metadata quorum. Each is refused (KIP-853).

INCONSISTENT_CLUSTER_ID; INVALID_REQUEST if no valid voter is named; VOTER_NOT_FOUND for any other, also for this node:
the last voter cannot be removed.
"""

from barnabas.broker.metadata.log.quorum import check_voter, voter_text
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


def handle(request: RemoveRaftVoterRequest, context: RequestContext) -> RemoveRaftVoterResponse:
    refusal = _refusal(request, context)
    return RemoveRaftVoterResponse(error_code=refusal.code, error_message=refusal.message)


def _refusal(request: RemoveRaftVoterRequest, context: RequestContext) -> KafkaError:
    try:
        check_voter(request, context.node.cluster_id, "Remove voter request didn't include a valid voter")
    except KafkaError as refusal:
        return refusal
    leadership, old = context.services.catalogue.leadership, voter_text(request.voter_id, request.voter_directory_id)
    voters = voter_text(leadership.node_id, leadership.directory_id)
    return KafkaError(ErrorCode.VOTER_NOT_FOUND, f"Cannot remove voter {old} from the set of voters [{voters}]")
