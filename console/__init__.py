"""The site and the human face of Taskdeck."""
