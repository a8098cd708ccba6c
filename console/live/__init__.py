"""The live half of the console: one websocket a tab that says what changed, by id and version, and nothing else.

What changed is read again through the pages, with their checks; so a wrong subscription could tell nobody anything.
Nothing here renders, and nothing here is imported by the pages.
"""
