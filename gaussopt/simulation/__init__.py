"""One call for a motion or for many: settings, engines, batches."""
