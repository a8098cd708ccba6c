"""The engine and the machine face of Taskdeck: usable without the console."""
