"""How time passes: speed of jobs, progress, events, the engine."""
