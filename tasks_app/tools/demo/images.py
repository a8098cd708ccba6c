"""A tool that returns content of several kinds: it draws pictures, makes them smaller and gives back a thumbnail."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from typing import Annotated, Any

from pydantic import Field

from tasks_app.engine import Context, tool
from tasks_app.tools.demo.pace import Seconds, linger

SIDE = 192
PNG = "image/png"

Pixel = tuple[int, int, int]
Picture = list[list[Pixel]]


@tool(title="Resize images", expected=10, labels=("images", "size"))
def resize_images(
    ctx: Context,
    images: Annotated[int, Field(ge=1, le=50, description="How many pictures to draw and resize.")] = 8,
    size: Annotated[int, Field(ge=8, le=96, description="The side of a thumbnail, in pixels.")] = 48,
    seconds: Seconds = 10,
) -> list[dict[str, Any]]:
    """Draw pictures, scale each down to a thumbnail, and return the last one as an image.

    Shows progress, and a result of several kinds of content: text and a PNG.
    """
    before = after = 0
    thumbnail = b""
    for number in range(1, images + 1):
        picture = _draw(number)
        thumbnail = _png(_scaled(picture, size))
        before, after = before + len(_png(picture)), after + len(thumbnail)
        ctx.progress(number, images, f"Resized picture {number} to {size} × {size}")  # noqa: RUF001 - as people write it
        linger(ctx, seconds / images)
    said = f"Resized {images} pictures from {before} to {after} bytes. The last one follows."
    return [
        {"type": "text", "text": said},
        {"type": "image", "data": base64.b64encode(thumbnail).decode(), "mimeType": PNG},
    ]


def _draw(number: int) -> Picture:
    """Rings around a centre that moves from picture to picture."""
    centre = SIDE * (number % 5 + 1) / 6

    def pixel(x: int, y: int) -> Pixel:
        ring = math.hypot(x - centre, y - SIDE / 2) / 6 + number
        return int(127 + 127 * math.sin(ring)), 255 * x // SIDE, 255 * y // SIDE

    return [[pixel(x, y) for x in range(SIDE)] for y in range(SIDE)]


def _scaled(picture: Picture, size: int) -> Picture:
    """Each pixel is the mean of those that it stands for."""
    edges = [round(index * SIDE / size) for index in range(size + 1)]
    spans = [range(edges[index], edges[index + 1]) for index in range(size)]
    return [[_mean([picture[y][x] for y in rows for x in columns]) for columns in spans] for rows in spans]


def _mean(pixels: list[Pixel]) -> Pixel:
    red, green, blue = (sum(channel) // len(pixels) for channel in zip(*pixels, strict=True))
    return red, green, blue


def _png(picture: Picture) -> bytes:
    """The picture as a file: eight bits a channel, no filter."""
    header = struct.pack(">IIBBBBB", len(picture[0]), len(picture), 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(value for pixel in line for value in pixel) for line in picture)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
