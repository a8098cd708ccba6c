"""Tools to try Taskdeck with, one for each thing that a tool can do. All work is real, harmless and on this machine.

Declared only where the setting `TASKDECK_DEMO` is on. Each spreads its work over some seconds, so that there is
something to watch; tests spread it over none.
"""

from __future__ import annotations

from tasks_app.tools.demo import crawl, deploy, endings, feedback, files, images, nightly

__all__ = ["crawl", "deploy", "endings", "feedback", "files", "images", "nightly"]
