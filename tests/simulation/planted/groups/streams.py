"""Bugs of streams groups: the assignment of tasks."""

from tests.simulation.planted.planting import Bug

_SEEDS = 450  # of which a twentieth has a streams group


def _bug(name: str, says: str) -> Bug:
    return Bug(name, says, seeds=_SEEDS, needs="sharers")


BUGS = (
    _bug(
        "task assigned before it is revoked",
        "A member of a streams group gets a task that another member has not revoked yet.",
    ).at("streams.reconciliation:_next", "not group.has_active_owner(subtopology_id, number)", "True"),
    _bug(
        "standby task next to its active task",
        "A process gets the standby task of a task that is active in the same process.",
    )
    .at("_Draft._has_gone_back", "not active.process.has_task(task)", "True")
    .at("_Draft._has_found_process", "not process.has_task(task)", "True"),
    _bug("dead streams member not removed", "A dead member of a streams group still has its tasks.").at(
        "streams.leaving:timer_fired",
        "is_rebalance(timer) and member.state is not StreamsMemberState.UNREVOKED_TASKS",
        "not is_rebalance(timer) or member.state is not StreamsMemberState.UNREVOKED_TASKS",
    ),
)
