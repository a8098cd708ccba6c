"""The server to compare with: FastMCP with its tasks on Redis. Runs in an environment of its own, without our packages.

`PEER_TOKENS` are the bearer tokens that it knows, `FASTMCP_DOCKET_URL` is its Redis. It answers with plain JSON and
says nothing about single requests, both of which make it faster.
"""

from __future__ import annotations

import os
import sys

from fastmcp import FastMCP  # type: ignore[import-not-found]
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier  # type: ignore[import-not-found]
from fastmcp_tasks import TasksExtension  # type: ignore[import-not-found]


def serve(port: int) -> None:
    """Answer on this port until the process is ended."""
    tokens = os.environ["PEER_TOKENS"].split(",")
    known = {token: {"client_id": f"owner-{number}", "scopes": ["tasks"]} for number, token in enumerate(tokens)}
    server = FastMCP("peer", auth=StaticTokenVerifier(known, required_scopes=["tasks"]))
    server.add_extension(TasksExtension())

    @server.tool(task=True)  # type: ignore[untyped-decorator]
    async def noop(number: int) -> str:
        """Do nothing."""
        return "done"

    server.run(
        transport="http",
        host="127.0.0.1",
        port=port,
        show_banner=False,
        log_level="warning",
        json_response=True,
        stateless_http=True,
    )


if __name__ == "__main__":
    serve(int(sys.argv[1]))
