"""What a task asks. The first valid answer wins; after that the row is as final as the answer."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind, QuestionState, Via
from tasks_app.models.rules import DatabaseNow, iff, known
from tasks_app.models.task import Task
from tasks_app.models.triggers import REFUSED, Rule

LOG_ASKED = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail)
    SELECT NEW.task_id, t.owner_id, 'asked', t.attempt,
           CASE WHEN t.attempt = 0 THEN tasks_creator(t.owner_id, t.credential_id, t.request_id) ELSE tasks_actor() END,
           jsonb_build_object('key', NEW.key, 'kind', NEW.kind, 'audience', NEW.audience, 'expires', NEW.expires_at)
      FROM tasks_task t WHERE t.id = NEW.task_id;
    RETURN NULL;
"""
LOG_CLOSED = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail)
    SELECT NEW.task_id, t.owner_id, CASE NEW.state WHEN 'answered' THEN 'answered' WHEN 'expired' THEN 'question_expired' ELSE 'withdrawn' END,
           t.attempt, tasks_actor(), jsonb_strip_nulls(jsonb_build_object('key', NEW.key, 'action', NEW.action, 'via', NEW.answered_via,
           'digest', encode(sha256(convert_to(NEW.answer, 'UTF8')), 'hex')))
      FROM tasks_task t WHERE t.id = NEW.task_id;
    RETURN NULL;
"""


class Question(models.Model):
    """One prompt, addressed by its key, named by the tool."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="questions", db_index=False)
    key = models.TextField()
    name = models.TextField()
    position = models.PositiveIntegerField(
        db_default=0, help_text="Its place among the steps and questions of a replay."
    )
    kind = models.TextField(db_default=QuestionKind.FORM.value)
    audience = models.TextField(db_default=Audience.OWNER.value)
    request = models.TextField()
    default_answer = models.TextField(null=True, help_text="The answer that the deadline gives.")
    state = models.TextField(db_default=QuestionState.OPEN.value)
    answer = models.TextField(null=True)
    action = models.TextField(null=True)
    answered_by = models.JSONField(null=True, help_text="The actor, as in the event.")
    answered_via = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())
    closed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            known("question_kind_known", "kind", QuestionKind),
            known("question_audience_known", "audience", Audience),
            known("question_state_known", "state", QuestionState),
            known("question_action_known", "action", AnswerAction, optional=True),
            known("question_via_known", "answered_via", Via, optional=True),
            models.UniqueConstraint(name="question_key_once", fields=["task", "key"]),
            models.UniqueConstraint(name="question_name_once", fields=["task", "name"]),
            models.CheckConstraint(
                name="question_answer_iff_answered",
                condition=iff(
                    Q(state="answered"),
                    Q(
                        answer__isnull=False,
                        action__isnull=False,
                        answered_via__isnull=False,
                        answered_by__isnull=False,
                    ),
                ),
            ),
            models.CheckConstraint(
                name="question_closed_iff_not_open", condition=iff(Q(state="open"), Q(closed_at__isnull=True))
            ),
        ]
        indexes = [
            # Inbox (soonest first) and the expiry of questions.
            models.Index(name="question_open", fields=["expires_at", "id"], condition=Q(state="open")),
            # The number in an operator's navigation: what only an operator may decide.
            models.Index(
                name="question_approval", fields=["expires_at", "id"], condition=Q(state="open", audience="operator")
            ),
            # The inbox's lists of what is over, the latest first.
            models.Index(name="question_closed", fields=["state", "-closed_at", "-id"], condition=~Q(state="open")),
        ]
        triggers = [
            Rule(name="question_asked_is_logged", when=pgtrigger.After, operation=pgtrigger.Insert, func=LOG_ASKED),
            Rule(
                name="question_closed_is_logged",
                when=pgtrigger.After,
                operation=pgtrigger.UpdateOf("state"),
                condition=pgtrigger.Condition("OLD.state IS DISTINCT FROM NEW.state"),
                func=LOG_CLOSED,
            ),
            Rule(
                name="question_closed_is_final",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.state <> 'open'"),
                func=f"RAISE EXCEPTION 'question % of task % is closed', OLD.key, OLD.task_id {REFUSED};",
            ),
        ]
