"""Signing in and out. Accounts and sessions are Django's; the words and the look are ours."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django_htmx.http import HttpResponseClientRefresh

from console import refusals, request_ids
from console.throttle import Throttle
from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind

KEEP_DAYS = 14
KEEP_SECONDS = KEEP_DAYS * 24 * 60 * 60
UNTIL_BROWSER_CLOSES = 0
TRIES = 5
TRIES_SECONDS = 60
TOO_MANY_REQUESTS = 429
# One sentence for every cause: it must not tell which names exist.
MESSAGES = {**AuthenticationForm.error_messages, "invalid_login": "Wrong name or password."}

throttle = Throttle(tries=TRIES, seconds=TRIES_SECONDS)
"""Wrong passwords by address and name, in this process."""


class SignInForm(AuthenticationForm):
    """Name, password, and whether the session outlives the browser."""

    error_messages = MESSAGES

    keep = forms.BooleanField(required=False, initial=True)


class SignIn(LoginView):
    """The sign-in page, which leads to the page that asked for it."""

    template_name = "login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a fragment request of an ended session with a reload, not with a form inside the page."""
        if "HX-Request" in request.headers:
            return HttpResponseClientRefresh()
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Look at a password only while there were not too many wrong ones: guessing must take years."""
        wait = throttle.wait(_who(request))
        if wait is None:
            return super().post(request, *args, **kwargs)
        refusals.note(request, action="sign_in", why="too many tries")
        form = self.authentication_form(request)
        context = self.get_context_data(form=form, tried=request.POST.get("username", ""), too_many=wait)
        response = self.render_to_response(context, status=TOO_MANY_REQUESTS)
        response["Retry-After"] = str(wait)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Count the try, and say what is wrong."""
        throttle.count(_who(self.request))
        refusals.note(self.request, action="sign_in", why="wrong name or password")
        return super().form_invalid(form)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Start the session, for two weeks or until the browser closes."""
        throttle.forget(_who(self.request))
        response = super().form_valid(form)
        record_sign_in(form.get_user(), via="password")
        self.request.session.set_expiry(KEEP_SECONDS if form.cleaned_data["keep"] else UNTIL_BROWSER_CLOSES)
        return response

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:  # noqa: ARG002
        """The safe address after sign-in; never this page again, which Django reports as a loop."""
        url = super().get_redirect_url()
        return "" if url.startswith(reverse("login")) else url


def record_sign_in(user: AbstractBaseUser, *, via: str) -> None:
    """Put a sign-in on record, with the way that it took."""
    owner_id = store.owner_of(user)
    by = Actor(ActorKind.OWNER, id=owner_id, via=via, request=request_ids.current())
    store.record_event("signed_in", by=by, owner_id=owner_id)


def _who(request: HttpRequest) -> tuple[str, str]:
    return request.META.get("REMOTE_ADDR", ""), request.POST.get("username", "").casefold()


sign_in = login_not_required(SignIn.as_view(extra_context={"keep_days": KEEP_DAYS}))
# Not behind the login: signing out of a session that has ended is no reason to sign in.
sign_out = login_not_required(LogoutView.as_view())
