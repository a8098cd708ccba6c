"""Numbers in the text format of Prometheus: names, help, labels and values, nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Sample: TypeAlias = tuple[Mapping[str, str], float]


def metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> str:
    """One metric with all its samples; without any it is left out, as there is nothing to say."""
    lines = [f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    if not lines:
        return ""
    return "\n".join([f"# HELP {name} {_escaped(text, quotes=False)}", f"# TYPE {name} {kind}", *lines]) + "\n"


def single(name: str, kind: str, text: str, value: float | None) -> str:
    """A metric without labels; None leaves it out."""
    return metric(name, kind, text, [] if value is None else [({}, value)])


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str, *, quotes: bool = True) -> str:
    safe = text.replace("\\", "\\\\").replace("\n", "\\n")
    return safe.replace('"', '\\"') if quotes else safe


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
