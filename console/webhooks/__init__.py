"""Telling other systems about new questions: where a message may go, what it says, and how it is sent.

What is to be sent, and what became of it, is in the outbox of `console.store`. No page is imported here.
"""
