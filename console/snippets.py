"""What to paste where, so that a client finds this server. The token itself is in none of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

VARIABLE = "TASKDECK_TOKEN"


@dataclass(frozen=True, slots=True)
class Snippet:
    """How one client is connected: where the text goes, and the text."""

    key: str
    name: str
    lead: str
    text: str


def snippets(endpoint: str) -> list[Snippet]:
    """The usual clients, for the endpoint at this address."""
    shell = f"Set {VARIABLE} in your shell first, then run:"
    return [
        Snippet("claude-code", "Claude Code", shell, _claude_code(endpoint)),
        Snippet("codex", "Codex", f"Into ~/.codex/config.toml, with {VARIABLE} set in your shell:", _codex(endpoint)),
        Snippet("cursor", "Cursor", f"Into .cursor/mcp.json, with {VARIABLE} set in your shell:", _cursor(endpoint)),
        Snippet("vscode", "VS Code", "Into .vscode/mcp.json. It asks for the token once:", _vscode(endpoint)),
        Snippet("inspector", "Inspector", shell, _inspector(endpoint)),
        Snippet("python", "Python", f"With the package mcp, and {VARIABLE} set in your shell:", _python(endpoint)),
        Snippet("curl", "curl", shell, _curl(endpoint)),
    ]


def _claude_code(endpoint: str) -> str:
    return (
        f"claude mcp add --transport http taskdeck {endpoint} \\\n"
        f'  --header "Authorization: Bearer ${VARIABLE}"'
    )  # fmt: skip


def _codex(endpoint: str) -> str:
    return f'[mcp_servers.taskdeck]\nurl = "{endpoint}"\nbearer_token_env_var = "{VARIABLE}"'


def _cursor(endpoint: str) -> str:
    headers = {"Authorization": f"Bearer ${{env:{VARIABLE}}}"}
    return json.dumps({"mcpServers": {"taskdeck": {"url": endpoint, "headers": headers}}}, indent=2)


def _vscode(endpoint: str) -> str:
    asked = {"id": "taskdeck-token", "type": "promptString", "description": "Taskdeck token", "password": True}
    headers = {"Authorization": "Bearer ${input:taskdeck-token}"}
    server = {"type": "http", "url": endpoint, "headers": headers}
    return json.dumps({"inputs": [asked], "servers": {"taskdeck": server}}, indent=2)


def _inspector(endpoint: str) -> str:
    return (
        f"npx @modelcontextprotocol/inspector --cli {endpoint} --transport http \\\n"
        f'  --header "Authorization: Bearer ${VARIABLE}" --method tools/list'
    )


def _python(endpoint: str) -> str:
    return f"""import asyncio, os
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main():
    headers = {{"Authorization": "Bearer " + os.environ["{VARIABLE}"]}}
    async with streamablehttp_client("{endpoint}", headers=headers) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            print([tool.name for tool in (await session.list_tools()).tools])

asyncio.run(main())"""


def _curl(endpoint: str) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}, indent=1)
    headers = (
        f'"Authorization: Bearer ${VARIABLE}"',
        '"Content-Type: application/json"',
        '"Accept: application/json, text/event-stream"',
        '"MCP-Protocol-Version: 2026-07-28"',
        '"Mcp-Method: tools/list"',
    )
    lines = [f"curl -s {endpoint}", *(f"-H {header}" for header in headers), f"-d '{body}'"]
    return " \\\n  ".join(lines)
