"""The pure rules of Taskdeck: what a task may do, what is too big, when it ends, what counts as an answer.

Only the standard library, pydantic and jsonschema are imported here. No Django, no database, no network, no wire names
beyond the words of the protocol itself; every rule is a value or a function that a test can call.
"""
