"""The main job, `reproduce.py`: compute sections and claims of all papers again, and write the report."""
