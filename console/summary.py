"""What the overview and the tools page show, made from movements and counts. Pure: nothing here asks the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse

from console import charts, numbers, present
from tasks_app.store.trends import Live, Movement

SILENT = timedelta(minutes=5)
NEAR = timedelta(minutes=10)
GOOD_PERCENT = 80
SPARK_POINTS = 12
TICKS = 4
LOG_LOW = 1.0
LOG_HIGHS = (1_000.0, 1_000_000.0)

Link = Callable[[str], str]
Standing = Mapping[str, Mapping[str, int]]
"""How many tasks stand where, tool by tool."""


@dataclass(frozen=True, slots=True)
class Range:
    """A stretch of time up to now, in slots of one width."""

    key: str
    name: str
    length: timedelta
    step: timedelta
    step_name: str

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return self.length // self.step

    def since(self, now: datetime) -> datetime:
        """When the first slot begins: slots begin at round times, and the last one holds now."""
        seconds = self.step.total_seconds()
        begun = now.timestamp() // seconds * seconds
        return datetime.fromtimestamp(begun, tz=now.tzinfo) + self.step - self.length


RANGES = (
    Range("1h", "1 h", timedelta(hours=1), timedelta(minutes=1), "per minute"),
    Range("24h", "24 h", timedelta(hours=24), timedelta(minutes=30), "per 30 min"),
    Range("7d", "7 d", timedelta(days=7), timedelta(hours=4), "per 4 h"),
)


@dataclass(frozen=True, slots=True)
class Tile:
    """One number with what is said below it, and where it leads."""

    label: str
    icon: str
    tone: str
    count: int
    sub: str
    url: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Path data by the class that they are drawn in, and the labels of the axis from the top down."""

    paths: Mapping[str, str]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A tool in numbers."""

    name: str
    spark: str
    runs: int
    success: str
    is_poor: bool
    p50: str
    p95: str
    working: int
    waiting: int


def tasks_link(query: str, *, everyone: bool) -> str:
    """The address of the tasks that a search finds, in the scope of the page that it stands on."""
    return f"{reverse('tasks')}?{urlencode({'q': query, 'scope': 'all' if everyone else 'mine'})}"


def tiles(standing: Standing, sums: numbers.Sums, live: Live, *, now: datetime, link: Link) -> list[Tile]:
    """The numbers on top: how many tasks stand where now, exactly as the list that each leads to would count them."""

    def count(*names: str) -> int:
        return sum(tool.get(name, 0) for tool in standing.values() for name in names)

    oldest = "" if live.oldest_since is None else f"oldest {present.span(now - live.oldest_since)}"
    soonest = "" if live.soonest_expiry is None else f"soonest {present.countdown(live.soonest_expiry, now=now).text}"
    took = f"p50 {numbers.words(sums.ran, 0.5)}, p95 {numbers.words(sums.ran, 0.95)}"
    errors, expired = _share(sums.tool_errors, sums), f"{present.capped(sums.expired)} in this range"
    return [
        Tile("Working", "working", "s-working", count("working"), oldest or "none", link("status:working")),
        Tile(
            "Need input", "input", "s-input", count("input_required"), soonest or "none", link("status:input_required")
        ),
        Tile("Completed", "completed", "s-completed", count("completed"), took, link("status:completed -is:toolerror")),
        Tile("Tool errors", "warn", "s-toolerror", count("tool_error"), errors, link("is:toolerror")),
        Tile("Failed", "failed", "s-failed", count("failed"), _share(sums.failed, sums), link("status:failed")),
        Tile("Expired", "hourglass", "", count("expired"), expired, link("is:expired")),
    ]


def _share(count: int, sums: numbers.Sums) -> str:
    return f"{numbers.percent(100 * count / sums.finished if sums.finished else 0)} of what ended"


def throughput(moved: Sequence[Movement], range_: Range) -> Chart:
    """Bars of what ended, and a line of what was created."""
    completed = _by_slot((each for each in moved if each.entered == numbers.COMPLETED), range_.slots)
    failed = _by_slot((each for each in moved if each.entered == numbers.FAILED), range_.slots)
    errors = _by_slot((each for each in moved if each.entered == numbers.TOOL_ERROR), range_.slots)
    created = _by_slot((each for each in moved if not each.left), range_.slots)
    on_failed = [sum(pair) for pair in zip(completed, failed, strict=True)]
    all_ended = [sum(pair) for pair in zip(on_failed, errors, strict=True)]
    scale = charts.nice_scale(max([*created, *all_ended], default=0))
    paths = {
        "b-c": charts.bars(completed, below=[0] * range_.slots, top=scale.top),
        "b-f": charts.bars(failed, below=completed, top=scale.top),
        "b-t": charts.bars(errors, below=on_failed, top=scale.top),
        "l w": charts.line(created, top=scale.top),
    }
    return Chart(paths, scale.labels)


def durations(moved: Sequence[Movement], range_: Range) -> Chart:
    """How long tasks took, slot by slot, on a scale on which each step is a factor."""
    slots = [numbers.add_up(each for each in moved if each.slot == index).ran for index in range(range_.slots)]
    times = {name: [numbers.within(ran, share) for ran in slots] for name, share in (("p95", 0.95), ("p50", 0.5))}
    longest = max((time.total_seconds() for time in times["p95"] if time is not None), default=0.0)
    high = next((each for each in LOG_HIGHS if longest <= each), LOG_HIGHS[-1])
    paths = {}
    for name, found in times.items():
        seconds = [None if time is None else time.total_seconds() for time in found]
        shares = [charts.logarithmic(each, low=LOG_LOW, high=high) for each in seconds]
        paths[f"l {name}"] = charts.steps(shares, top=1.0)
    factor = (high / LOG_LOW) ** (1 / 3)
    labels = tuple(present.span(timedelta(seconds=LOG_LOW * factor**power)) for power in (3, 2, 1, 0))
    return Chart(paths, labels)


def ticks(since: datetime, range_: Range) -> list[datetime]:
    """The times below a chart; "now" follows them."""
    return [since + range_.length * index / TICKS for index in range(TICKS)]


def by_tool(moved: Sequence[Movement], standing: Standing, *, slots: int) -> list[ToolLine]:
    """Every tool that has tasks, the busiest first."""
    names = {each.tool for each in moved} | set(standing)
    lines = [_tool_line(name, [each for each in moved if each.tool == name], standing, slots) for name in names]
    return sorted(lines, key=lambda line: (-line.runs, -line.waiting, line.name))


def _tool_line(name: str, moved: Sequence[Movement], standing: Standing, slots: int) -> ToolLine:
    sums = numbers.add_up(moved)
    ended = _by_slot((each for each in moved if each.entered in numbers.FINISHED), slots)
    width = max(slots // SPARK_POINTS, 1)
    points = [sum(ended[start : start + width]) for start in range(0, slots, width)]
    is_poor = sums.success is not None and sums.success < GOOD_PERCENT
    return ToolLine(
        name,
        spark=charts.line(points, top=max([*points, 1]), width=charts.HEIGHT),
        runs=sums.finished,
        success=numbers.percent(sums.success),
        is_poor=is_poor,
        p50=numbers.words(sums.ran, 0.5),
        p95=numbers.words(sums.ran, 0.95),
        working=standing.get(name, {}).get("working", 0),
        waiting=standing.get(name, {}).get("input_required", 0),
    )


def _by_slot(moved: Iterable[Movement], slots: int) -> list[int]:
    counts = [0] * slots
    for each in moved:
        if 0 <= each.slot < slots:
            counts[each.slot] += each.tasks
    return counts
