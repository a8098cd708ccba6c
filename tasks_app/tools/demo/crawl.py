"""An async tool whose every page is a step: a crawl that a lost worker does not begin again from the front page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Annotated

from pydantic import BaseModel, Field

from tasks_app.engine import AsyncContext, tool
from tasks_app.tools.demo import site
from tasks_app.tools.demo.pace import Seconds, linger_async

FETCH_SECONDS = 5.0
AT_ONCE = 4
HREF = re.compile(r'href="([^"]+)"')
TAG = re.compile(r"<[^>]+>")


class Page(BaseModel):
    """What was found at one address."""

    path: str
    status: int
    words: int
    links: list[str]


class Crawled(BaseModel):
    """The whole site in numbers."""

    pages: int
    words: int
    dead_links: list[str]


@tool(title="Crawl a site", expected=15, labels=("pages",))
async def crawl_site(
    ctx: AsyncContext,
    pages: Annotated[int, Field(ge=1, le=100, description="How many pages the site has.")] = 20,
    seconds: Seconds = 15,
) -> Crawled:
    """Crawl a small web site and report its size and its dead links.

    Shows an async tool that fetches several pages at once and remembers each as a step: after a lost worker it goes on
    where it was. The site is served by the tool itself on this machine; nothing else is contacted.
    """
    found: list[Page] = []
    waiting = ["/page-0"]
    with site.serve(pages) as port:
        while waiting:
            batch, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            for page in await _visit(ctx, batch, port):
                found.append(page)
                waiting += page.links
                await ctx.log(f"{page.status} {page.path} {page.words} words")
            await ctx.progress(len(found), len(found) + len(waiting), f"{len(waiting)} pages left")
            await linger_async(ctx, seconds * len(batch) / pages)
    dead = [page.path for page in found if page.status != 200]
    return Crawled(pages=len(found) - len(dead), words=sum(page.words for page in found), dead_links=dead)


async def _visit(ctx: AsyncContext, paths: Sequence[str], port: int) -> list[Page]:
    return await asyncio.gather(*(ctx.step(f"get {path}", _get, path, port) for path in paths))


def _get(path: str, port: int) -> Page:
    connection = HTTPConnection(site.LOOPBACK, port, timeout=FETCH_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    if answer.status != 200:
        return Page(path=path, status=answer.status, words=0, links=[])
    return Page(path=path, status=200, words=len(TAG.sub(" ", text).split()), links=HREF.findall(text))
