"""A tool that asks with a form of every kind of field: what a client or the console has to be able to show."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AnyUrl, AwareDatetime, BaseModel, Field

from tasks_app.engine import Context, tool

Topic = Literal["Board", "Inbox", "Audit", "Tools", "Docs"]


MOODS = {"happy": "Happy with it", "so-so": "Could be better", "cross": "Not happy at all"}


def _label_moods(schema: dict[str, Any]) -> None:
    """Give the options labels, which people read in place of the values."""
    del schema["enum"]
    schema["oneOf"] = [{"const": value, "title": label} for value, label in MOODS.items()]


class Feedback(BaseModel):
    """One field of every kind, with and without limits and defaults."""

    name: str = Field(title="Your name", min_length=2, max_length=80)
    mood: Literal["happy", "so-so", "cross"] = Field(title="How do you feel about it?", json_schema_extra=_label_moods)
    version: Literal["stable", "beta"] = Field("stable", title="Which version?")
    topics: list[Topic] = Field(["Inbox"], title="What is it about?", min_length=1, max_length=3)
    stars: int = Field(4, title="Stars", ge=1, le=5)
    hours: float | None = Field(None, title="Hours a week", ge=0, le=168, description="A guess will do.")
    since: date | None = Field(None, title="Since when?")
    call_at: AwareDatetime | None = Field(None, title="When may we call?")
    email: Annotated[str, Field(title="E-mail", json_schema_extra={"format": "email"})] = "ana@example.org"
    link: AnyUrl | None = Field(None, title="A link", description="A screenshot, perhaps.")
    may_quote: bool = Field(False, title="May we quote you?")


@tool(title="Feedback form", expected=60, labels=("subject",))
def feedback_form(
    ctx: Context, subject: Annotated[str, Field(max_length=80, description="What to ask about.")] = "Taskdeck"
) -> str:
    """Ask for feedback with a form that has every kind of field.

    Shows text, choices, lists of choices, numbers, dates, an address and a yes or no, with limits and defaults.
    """
    answer = ctx.ask("feedback", Feedback, message=f"What do you think of {subject}?")
    if answer.value is None:
        return f"No feedback on {subject}: the form was {'declined' if answer.action == 'decline' else 'dismissed'}."
    given = answer.value
    ctx.set_variable("stars", given.stars)
    return f"{given.name} gives {subject} {given.stars} of 5 stars, for {', '.join(given.topics)}."
