"""Changing one's password, or setting the first one after a login link."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpResponse
from django.urls import reverse_lazy

from console import request_ids
from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind


class ChangePassword(PasswordChangeView):
    """The form; other sessions of the account end with the change."""

    template_name = "password.html"
    success_url = reverse_lazy("home")

    def get_form_class(self) -> type[Any]:
        """Who has no password yet cannot be asked for it."""
        assert isinstance(self.request.user, User)
        return PasswordChangeForm if self.request.user.has_usable_password() else SetPasswordForm

    def form_valid(self, form: forms.BaseForm) -> HttpResponse:
        """Change it, and put that on record."""
        response = super().form_valid(form)  # type: ignore[arg-type]
        assert isinstance(self.request.user, User)
        owner_id = store.owner_of(self.request.user)
        by = Actor(ActorKind.OWNER, id=owner_id, via="console", request=request_ids.current())
        store.record_event("password_changed", by=by, owner_id=owner_id)
        messages.success(self.request, "Your password is set.")
        return response


change_password = ChangePassword.as_view()
