"""The one-time link: signs its account in, once, or says that it is used up."""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from console.login_link import account_of
from console.pages.sign_in import record_sign_in

GONE = 410
BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@never_cache
@require_GET
def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Start a session and lead to the tasks; whoever is signed in already is led there by a used link, too."""
    with transaction.atomic():
        user = account_of(token)
        if user is not None:
            login(request, user, backend=BACKEND)
            record_sign_in(user, via="login_link")
            return redirect("tasks")
    if request.user.is_authenticated:
        return redirect("tasks")
    return render(request, "login_link.html", status=GONE)
