"""A file of the project, whose text snapshots may have."""
