"""The only writer. Each function is one short transaction that locks the task row first, holds no network call, and then
announces. The read side is `queries`. Nothing here knows HTTP or HTML.

What the rest of the project calls is named here, one word an idea; the modules hold the statements.
"""

from __future__ import annotations

from tasks_app.store.cancel import Cancelled, cancel, give_up, killed, stopped
from tasks_app.store.chain import ChainState, chain_state, seal, verify_now
from tasks_app.store.claim import Beat, Claimant, claim_next, handed_over, heartbeat, lease_for
from tasks_app.store.create import Created, NewTask, create
from tasks_app.store.events import record_event
from tasks_app.store.expiry import expire, extend, hold, hold_expired, purge
from tasks_app.store.fetch import record_fetch
from tasks_app.store.identity import (
    Caller,
    authenticate,
    create_token,
    find_or_make_owner,
    link_local,
    local_owner,
    owner_of,
    revoke_token,
)
from tasks_app.store.journal import (
    History,
    history,
    holds,
    save_step,
    set_message,
    set_progress,
    set_variables,
    write_output,
)
from tasks_app.store.questions import (
    Answer,
    Answered,
    Ignored,
    NewQuestion,
    answer,
    expire_questions,
    suspend,
    suspension,
)
from tasks_app.store.reap import reap
from tasks_app.store.retire import retire
from tasks_app.store.rows import Claim, QuestionView, Snapshot
from tasks_app.store.settle import (
    Ending,
    Turn,
    complete,
    completion,
    fail,
    failure,
    record,
    release,
    releasing,
    retry,
    retrying,
    turn,
)
from tasks_app.store.tally import counts, counts_by_tool, fold

__all__ = [
    "Answer",
    "Answered",
    "Beat",
    "Caller",
    "Cancelled",
    "ChainState",
    "Claim",
    "Claimant",
    "Created",
    "Ending",
    "History",
    "Ignored",
    "NewQuestion",
    "NewTask",
    "QuestionView",
    "Snapshot",
    "Turn",
    "answer",
    "authenticate",
    "cancel",
    "chain_state",
    "claim_next",
    "complete",
    "completion",
    "counts",
    "counts_by_tool",
    "create",
    "create_token",
    "expire",
    "expire_questions",
    "extend",
    "fail",
    "failure",
    "find_or_make_owner",
    "fold",
    "give_up",
    "handed_over",
    "heartbeat",
    "history",
    "hold",
    "hold_expired",
    "holds",
    "killed",
    "lease_for",
    "link_local",
    "local_owner",
    "owner_of",
    "purge",
    "reap",
    "record",
    "record_event",
    "record_fetch",
    "release",
    "releasing",
    "retire",
    "retry",
    "retrying",
    "revoke_token",
    "save_step",
    "seal",
    "set_message",
    "set_progress",
    "set_variables",
    "stopped",
    "suspend",
    "suspension",
    "turn",
    "verify_now",
    "write_output",
]
