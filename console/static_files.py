"""Static files under ASGI: small, so each is sent whole; of a stream that is not asynchronous Django would warn."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, with an answer that is no stream."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The file, a part of it, or the word that the browser's copy is still right."""
        served = static_file.get_response(request.method, request.META)
        if served.file is None:
            answer = HttpResponse(status=int(served.status))
        else:
            with served.file as file:
                answer = HttpResponse(file.read(), status=int(served.status))
        del answer["Content-Type"]
        for name, value in served.headers:
            answer[name] = value
        return answer
