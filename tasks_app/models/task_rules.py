"""The rules of the task table that the database enforces, and the log and the tally that no writer can forget."""

from __future__ import annotations

import pgtrigger

from tasks_app.domain.outcome import Outcome
from tasks_app.domain.status import TERMINAL, Status
from tasks_app.models.triggers import REFUSED, Rule, one_of, well_formed

# Said by the statement that creates a task with a gate; where nothing is said, nothing was raised.
ASKED_TTL = "nullif(current_setting('tasks.asked_ttl', true), '')::float8 * interval '1 ms'"

# Small columns only: comparing a payload would read it back from its storage on every update.
GUARD = f"""
    IF OLD.finished_at IS NOT NULL AND
       (NEW.status, NEW.outcome, NEW.finished_at, NEW.attempt, NEW.status_message, NEW.progress_done, NEW.progress_total,
        NEW.updated_at, NEW.status_at, NEW.losses, NEW.retries, NEW.output_bytes) IS DISTINCT FROM
       (OLD.status, OLD.outcome, OLD.finished_at, OLD.attempt, OLD.status_message, OLD.progress_done, OLD.progress_total,
        OLD.updated_at, OLD.status_at, OLD.losses, OLD.retries, OLD.output_bytes) THEN
        RAISE EXCEPTION 'task % is already %', OLD.id, OLD.status {REFUSED};
    END IF;
    IF NEW.version < OLD.version THEN
        RAISE EXCEPTION 'the version of task % only rises', OLD.id {REFUSED};
    END IF;
    IF NEW.attempt < OLD.attempt OR NEW.attempt > OLD.attempt + 1 THEN
        RAISE EXCEPTION 'attempt of task % may only rise by one', OLD.id {REFUSED};
    END IF;
    IF OLD.status = 'input_required' AND NEW.attempt <> OLD.attempt THEN
        RAISE EXCEPTION 'task % waits for input', OLD.id {REFUSED};
    END IF;
    IF NEW.expires_at < OLD.expires_at AND OLD.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'the expiry of finished task % cannot be brought forward', OLD.id {REFUSED};
    END IF;
    IF OLD.expired_at IS NOT NULL AND NEW.expired_at IS DISTINCT FROM OLD.expired_at THEN
        RAISE EXCEPTION 'task % has expired', OLD.id {REFUSED};
    END IF;
    IF (NEW.status, NEW.status_message, NEW.open_questions, NEW.attempt, NEW.expires_at, NEW.progress_done, NEW.progress_total, NEW.held, NEW.expired_at) IS DISTINCT FROM
       (OLD.status, OLD.status_message, OLD.open_questions, OLD.attempt, OLD.expires_at, OLD.progress_done, OLD.progress_total, OLD.held, OLD.expired_at) THEN
        NEW.version := OLD.version + 1;
        IF OLD.finished_at IS NULL THEN
            NEW.updated_at := greatest(tasks_now(), OLD.updated_at + interval '1 microsecond');
        END IF;
        IF NEW.status <> OLD.status THEN NEW.status_at := NEW.updated_at; END IF;
    END IF;
    RETURN NEW;
"""

IDENTITY_GUARD = f"""
    IF (NEW.id, NEW.owner_id, NEW.slot, NEW.tool, NEW.tool_version, NEW.arguments, NEW.labels, NEW.created_at, NEW.credential_id) IS DISTINCT FROM
       (OLD.id, OLD.owner_id, OLD.slot, OLD.tool, OLD.tool_version, OLD.arguments, OLD.labels, OLD.created_at, OLD.credential_id) THEN
        RAISE EXCEPTION 'identity of task % is immutable', OLD.id {REFUSED};
    END IF;
    RETURN NEW;
"""

PAYLOAD_GUARD = f"""
    IF OLD.finished_at IS NOT NULL AND
       (NEW.result, NEW.error, NEW.variables) IS DISTINCT FROM (OLD.result, OLD.error, OLD.variables) THEN
        RAISE EXCEPTION 'task % is already %', OLD.id, OLD.status {REFUSED};
    END IF;
    RETURN NEW;
"""

# Apart from the guard, which compares no payload: this looks only where the variables are written.
COUNT_VARIABLES = """
    NEW.version := OLD.version + 1;
    NEW.updated_at := greatest(tasks_now(), OLD.updated_at + interval '1 microsecond');
    RETURN NEW;
"""

# Kept in the row, because a purge deletes the children in the statement that deletes the task.
COUNT_KEPT = """
    NEW.kept_bytes := NEW.output_bytes
        + (SELECT coalesce(sum(octet_length(s.value)), 0) FROM tasks_step s WHERE s.task_id = NEW.id)
        + (SELECT coalesce(sum(octet_length(q.request) + coalesce(octet_length(q.answer), 0)), 0)
             FROM tasks_question q WHERE q.task_id = NEW.id);
    RETURN NEW;
"""

DELETE_GUARD = f"""
    IF OLD.expired_at IS NULL OR OLD.held THEN
        RAISE EXCEPTION 'task % leaves only after its expiry was recorded, and not while it is held', OLD.id {REFUSED};
    END IF;
    RETURN OLD;
"""

# The actor comes from the row, so that one statement may create the tasks of several callers. What the policy decided with
# the birth is told as when it decides later; how long the task would have lived without its gate is known only here.
LOG_CREATED = f"""
    INSERT INTO tasks_event (task_id, owner_id, kind, to_status, attempt, actor, detail, at)
    VALUES (NEW.id, NEW.owner_id, 'created', NEW.status, NEW.attempt, tasks_creator(NEW.owner_id, NEW.credential_id, NEW.request_id),
            jsonb_build_object('tool', NEW.tool), NEW.created_at);
    INSERT INTO tasks_tally (owner_id, tool, entered, bytes, at)
    VALUES (NEW.owner_id, NEW.tool, NEW.status, octet_length(NEW.arguments), NEW.created_at);
    IF NEW.held THEN
        INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, at)
        VALUES (NEW.id, NEW.owner_id, 'held', NEW.attempt,
                jsonb_build_object('kind', 'engine', 'via', 'policy', 'reason', 'policy version ' || NEW.policy_version), NEW.created_at);
    END IF;
    IF NEW.status = 'input_required' AND NEW.expires_at > NEW.created_at + {ASKED_TTL} THEN
        INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail, at)
        VALUES (NEW.id, NEW.owner_id, 'ttl', NEW.attempt, tasks_creator(NEW.owner_id, NEW.credential_id, NEW.request_id),
                jsonb_build_object('from', NEW.created_at + {ASKED_TTL}, 'to', NEW.expires_at, 'why', 'asked'), NEW.created_at);
    END IF;
    RETURN NULL;
"""

LOG_STATUS = """
    INSERT INTO tasks_event (task_id, owner_id, kind, from_status, to_status, attempt, actor, detail)
    VALUES (NEW.id, NEW.owner_id, 'status', OLD.status, NEW.status, NEW.attempt, tasks_actor(),
            jsonb_strip_nulls(jsonb_build_object('outcome', NEW.outcome)));
    INSERT INTO tasks_tally (owner_id, tool, "left", entered, seconds, bytes)
    VALUES (NEW.owner_id, NEW.tool, OLD.status, tasks_standing(NEW.status, NEW.outcome), extract(epoch FROM NEW.status_at - OLD.status_at),
            CASE WHEN NEW.finished_at IS NULL THEN 0
                 ELSE coalesce(octet_length(NEW.result), 0) + coalesce(octet_length(NEW.error), 0) + octet_length(NEW.variables) + NEW.kept_bytes END);
    RETURN NULL;
"""

LOG_EXPIRED = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor)
    VALUES (NEW.id, NEW.owner_id, 'expired', NEW.attempt, tasks_actor());
    INSERT INTO tasks_tally (owner_id, tool, "left", entered, seconds)
    VALUES (NEW.owner_id, NEW.tool, tasks_standing(NEW.status, NEW.outcome), 'expired', extract(epoch FROM NEW.expired_at - NEW.finished_at));
    RETURN NULL;
"""

LOG_PURGED = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor)
    VALUES (OLD.id, OLD.owner_id, 'purged', OLD.attempt, tasks_actor());
    INSERT INTO tasks_tally (owner_id, tool, "left", entered, seconds, bytes)
    VALUES (OLD.owner_id, OLD.tool, 'expired', 'gone', extract(epoch FROM tasks_now() - OLD.expired_at),
            -(octet_length(OLD.arguments) + coalesce(octet_length(OLD.result), 0) + coalesce(octet_length(OLD.error), 0) + octet_length(OLD.variables) + OLD.kept_bytes));
    RETURN NULL;
"""

LOG_TTL = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail)
    VALUES (NEW.id, NEW.owner_id, 'ttl', NEW.attempt, tasks_actor(), jsonb_build_object('from', OLD.expires_at, 'to', NEW.expires_at,
            'why', CASE WHEN NEW.status IN ('completed', 'failed', 'cancelled') AND OLD.finished_at IS NULL THEN 'ended'
                        WHEN NEW.status <> OLD.status THEN 'asked' WHEN NEW.waiting <> OLD.waiting THEN 'shown' ELSE 'extended' END));
    RETURN NULL;
"""

LOG_HOLD = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor)
    VALUES (NEW.id, NEW.owner_id, CASE WHEN NEW.held THEN 'held' ELSE 'hold_lifted' END, NEW.attempt, tasks_actor());
    RETURN NULL;
"""


def _when(condition: str) -> pgtrigger.Condition:
    return pgtrigger.Condition(condition)


_COUNTED = (
    "tool_version",
    "attempt",
    "losses",
    "retries",
    "max_retries",
    "open_questions",
    "poll_ms",
    "policy_version",
)
# In the order in which they are looked at.
WELL_FORMED = {
    "task_active_is_latest": "NEW.active_attempt = NEW.attempt",
    "task_counts_up_from_zero": f"least({', '.join(f'NEW.{name}' for name in _COUNTED)}) >= 0",
    "task_error_iff_failed": "(NEW.status = 'failed') = (NEW.error IS NOT NULL)",
    "task_expired_only_finished": "NEW.expired_at IS NULL OR NEW.finished_at IS NOT NULL",
    "task_finished_iff_terminal": f"({one_of('NEW.status', sorted(TERMINAL))}) = (NEW.finished_at IS NOT NULL)",
    "task_has_a_tool": "NEW.tool <> ''",
    "task_input_iff_open": "(NEW.status = 'input_required') = (NEW.open_questions > 0)",
    "task_key_has_digest": "NEW.idempotency_key IS NULL OR NEW.request_digest IS NOT NULL",
    "task_outcome_iff_finished": "(NEW.outcome IS NULL) = (NEW.finished_at IS NULL)",
    "task_result_iff_completed": "(NEW.status = 'completed') = (NEW.result IS NOT NULL)",
    "task_sizes_are_not_negative": "least(NEW.output_bytes, NEW.kept_bytes) >= 0",
    "task_slot_counts_from_one": "NEW.slot > 0",
    "task_status_follows_outcome": one_of(
        "NEW.outcome || ' ' || NEW.status", (f"{outcome} {outcome.status}" for outcome in Outcome)
    ),
    "task_status_known": one_of("NEW.status", Status),
    # No limbo: a working task is held by an attempt or waits to be woken, never both, never neither; any other task is
    # neither. Cancel and expiry clear the active attempt, which fences the worker.
    "task_working_held_xor_runnable": "num_nonnulls(NEW.active_attempt, NEW.wake_at) = (NEW.status = 'working')::int",
}

TASK_RULES = [
    well_formed("task", WELL_FORMED),
    Rule(name="task_guard", when=pgtrigger.Before, operation=pgtrigger.Update, func=GUARD),
    Rule(
        name="task_identity_guard",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf(
            "id", "owner_id", "slot", "tool", "tool_version", "arguments", "labels", "created_at", "credential_id"
        ),
        func=IDENTITY_GUARD,
    ),
    Rule(
        name="task_payload_guard",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf("result", "error", "variables"),
        func=PAYLOAD_GUARD,
    ),
    # Named so that it fires after the guard.
    Rule(
        name="task_variables_are_a_change",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf("variables"),
        condition=_when("OLD.variables IS DISTINCT FROM NEW.variables"),
        func=COUNT_VARIABLES,
    ),
    Rule(
        name="task_kept_is_counted",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf("finished_at"),
        condition=_when("OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL"),
        func=COUNT_KEPT,
    ),
    Rule(name="task_delete_guard", when=pgtrigger.Before, operation=pgtrigger.Delete, func=DELETE_GUARD),
    Rule(name="task_birth_is_logged", when=pgtrigger.After, operation=pgtrigger.Insert, func=LOG_CREATED),
    Rule(
        name="task_status_is_logged",
        when=pgtrigger.After,
        operation=pgtrigger.UpdateOf("status"),
        condition=_when("OLD.status IS DISTINCT FROM NEW.status"),
        func=LOG_STATUS,
    ),
    Rule(
        name="task_ttl_is_logged",
        when=pgtrigger.After,
        operation=pgtrigger.UpdateOf("expires_at"),
        condition=_when("OLD.expires_at IS DISTINCT FROM NEW.expires_at"),
        func=LOG_TTL,
    ),
    Rule(
        name="task_hold_is_logged",
        when=pgtrigger.After,
        operation=pgtrigger.UpdateOf("held"),
        condition=_when("OLD.held IS DISTINCT FROM NEW.held"),
        func=LOG_HOLD,
    ),
    # Named so that it fires after the status: triggers fire in the order of their names.
    Rule(
        name="task_xpiry_is_logged",
        when=pgtrigger.After,
        operation=pgtrigger.UpdateOf("expired_at"),
        condition=_when("OLD.expired_at IS NULL AND NEW.expired_at IS NOT NULL"),
        func=LOG_EXPIRED,
    ),
    Rule(name="task_purge_is_logged", when=pgtrigger.After, operation=pgtrigger.Delete, func=LOG_PURGED),
]
