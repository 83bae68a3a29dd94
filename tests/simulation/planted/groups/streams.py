"""Bugs of streams groups: which member has which task, and whose offsets count."""

from tests.simulation.planted.planting import Bug

_SEEDS = 450  # of which a twentieth has a streams group


def _bug(name: str, says: str) -> Bug:
    return Bug(name, says, seeds=_SEEDS, needs="sharers")


BUGS = (
    _bug("a task given before it is free", "A member gets a task that another one has yet to give up.").at(
        "streams.reconciliation:_next", "not group.has_active_owner(subtopology_id, number)", "True"
    ),
    _bug("standby tasks beside the active ones", "A process gets a standby task of what it is active for.")
    .at("_Draft._has_gone_back", "not active.process.has_task(task)", "True")
    .at("_Draft._has_found_process", "not process.has_task(task)", "True"),
    _bug("streams members that never go", "The tasks of a member that died stay with it.").at(
        "streams.leaving:timer_fired",
        "is_rebalance(timer) and member.state is not StreamsMemberState.UNREVOKED_TASKS",
        "not is_rebalance(timer) or member.state is not StreamsMemberState.UNREVOKED_TASKS",
    ),
)
