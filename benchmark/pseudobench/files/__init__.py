"""Files that datasets are read from: those that users bring, and those that are fetched. For plugins with datasets."""
