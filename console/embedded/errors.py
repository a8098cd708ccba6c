"""The one error that a person sees: its text is a complete sentence that says what to do."""

from __future__ import annotations


class EmbeddedError(Exception):
    """Something outside our control is in the way; the message is meant for the person at the terminal."""


class Stopped(Exception):
    """A stop signal arrived while something was still being started."""
