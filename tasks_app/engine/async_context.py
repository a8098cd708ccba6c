"""The context of an `async def` tool: the same names as `Context`, awaitable where the journal may have to wait.

What reads only what is already known stays plain: the properties, `client_can` and `idempotency_key`. The journal is
sync; its calls leave the event loop through `offload`, a thread unless the caller has something better.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar, overload

from pydantic import BaseModel

from tasks_app.engine.context import DEFAULT_MAX_TOKENS, Context, Deadline
from tasks_app.engine.forms import Root, Sample, Wanted
from tasks_app.engine.journal import Handle
from tasks_app.engine.leg import Leg
from tasks_app.engine.questions import Answer, Question

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class Offload(Protocol):
    """Runs a blocking call away from the event loop and gives what it returns."""

    def __call__(self, call: Callable[[], T], /) -> Awaitable[T]:
        """Run the call."""


class AsyncContext(Context):
    """The async tool's side of its own task."""

    def __init__(self, leg: Leg, *, offload: Offload = asyncio.to_thread) -> None:
        super().__init__(leg)
        self._offload = offload

    @overload  # type: ignore[override]
    async def step(self, name: str, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    async def step(self, name: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a function, async or not, once in the life of the task, and give its value."""
        # The place in the order is taken before the first await, so that steps started together keep their order.
        begun = self._begin_step(name, function)
        if begun.recorded is not None:
            return begun.values.decode(begun.recorded.value)
        with self._leg.running(name):
            value = await self._run(partial(function, *args, **kwargs))
        return await self._offload(partial(self._end_step, begun, value))

    @overload  # type: ignore[override]
    async def ask(
        self, name: str, form: type[M], *, message: str, deadline: Deadline = None, default: object = None
    ) -> Answer[M]: ...

    @overload
    async def ask(
        self,
        name: str,
        form: Wanted[T] | type[Wanted[T]],
        *,
        message: str,
        deadline: Deadline = None,
        default: object = None,
    ) -> Answer[T]: ...

    async def ask(
        self, name: str, form: Any, *, message: str, deadline: Deadline = None, default: object = None
    ) -> Answer[Any]:
        """Ask, and give the answer; without one the run ends here."""
        return super().ask(name, form, message=message, deadline=deadline, default=default)

    async def ask_all(self, **questions: Question[Any]) -> dict[str, Answer[Any]]:  # type: ignore[override]
        """Ask several questions at once."""
        return super().ask_all(**questions)

    async def ask_url(  # type: ignore[override]
        self, name: str, url: str, *, message: str, deadline: Deadline = None, default: object = None
    ) -> Answer[None]:
        """Ask the person to open an address."""
        return super().ask_url(name, url, message=message, deadline=deadline, default=default)

    async def sample(  # type: ignore[override]
        self,
        name: str,
        messages: str | Iterable[Mapping[str, Any]],
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        deadline: Deadline = None,
        default: object = None,
        **settings: object,
    ) -> Answer[Sample]:
        """Ask the client's model."""
        return super().sample(name, messages, max_tokens=max_tokens, deadline=deadline, default=default, **settings)

    async def roots(  # type: ignore[override]
        self, name: str = "roots", *, deadline: Deadline = None, default: object = None
    ) -> Answer[list[Root]]:
        """Ask for the client's roots."""
        return super().roots(name, deadline=deadline, default=default)

    async def require_input(self, message: str) -> Answer[None]:  # type: ignore[override]
        """Wait until someone says that the task may go on."""
        return super().require_input(message)

    async def check_cancelled(self) -> None:  # type: ignore[override]
        """End the run here if the task was cancelled."""
        await self._offload(super().check_cancelled)

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:  # type: ignore[override]
        """Say how far the work is."""
        await self._offload(partial(super().progress, done, total, message))

    async def message(self, text: str) -> None:  # type: ignore[override]
        """Say in one line what the tool is doing."""
        await self._offload(partial(super().message, text))

    async def log(self, text: str) -> None:  # type: ignore[override]
        """Add a line to the output."""
        await self._offload(partial(super().log, text))

    async def set_variable(self, name: str, value: object) -> None:  # type: ignore[override]
        """Set one variable; None deletes it."""
        await self.set_variables({name: value})

    async def set_variables(self, changes: Mapping[str, object]) -> None:  # type: ignore[override]
        """Merge into the variables; None deletes one."""
        await self._offload(partial(super().set_variables, changes))

    async def resume(self) -> NoReturn:  # type: ignore[override]
        """Never possible here."""
        super().resume()

    async def complete(self, result: object = None) -> None:  # type: ignore[override]
        """End the task with this result once the function returns."""
        super().complete(result)

    async def fail(self, message: str) -> None:  # type: ignore[override]
        """End the task with a tool error once the function returns."""
        super().fail(message)

    async def cancel(self) -> None:  # type: ignore[override]
        """Cancel the task once the function returns."""
        super().cancel()

    async def defer(self, *, until: float | timedelta | datetime) -> Handle:  # type: ignore[override]
        """Hand the task over, and return from the function now."""
        return await self._offload(partial(super().defer, until=until))

    async def _run(self, call: partial[Any]) -> Any:
        if inspect.iscoroutinefunction(call.func):
            return await call()
        value = await self._offload(call)
        return await value if inspect.isawaitable(value) else value
