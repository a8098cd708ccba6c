"""What the benchmarks use: the settings of `make run`, with nobody listening on the bus."""

from __future__ import annotations

from console.settings.embedded import *  # noqa: F403

CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
