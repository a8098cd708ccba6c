"""Settings: `base` has every one, the others only what differs.

`embedded` is what `make run` uses, `production` what a deployment names, `test` what the tests use.
"""
