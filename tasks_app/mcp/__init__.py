"""The machine face: a plain ASGI application that speaks both generations of the Model Context Protocol on one address.

How a request passes: `endpoint` → `http` (read, check) → `auth` (who) → `jsonrpc` (what) → `negotiation` (which era) →
a handler of `legacy.METHODS` or `modern.METHODS` → `errors` and `http` (answer). Only this package spells wire names.
"""
