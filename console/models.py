"""What only the console keeps. Each table stands in the module of its subject; Django looks for all of them here."""

from __future__ import annotations

from console.notice_models import AnswerClaim, Delivery, Notice, Webhook
from console.preference_models import COLUMNS, Density, Preference, SavedView

__all__ = ["COLUMNS", "AnswerClaim", "Delivery", "Density", "Notice", "Preference", "SavedView", "Webhook"]
