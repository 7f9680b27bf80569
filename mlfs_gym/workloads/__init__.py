"""Where jobs come from: generator, toy instance, trace readers, model profiles, learning curves."""
