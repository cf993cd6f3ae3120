"""The main job: reproduce the papers (`reproduce.py`) from their sections and claims, and write the report."""
