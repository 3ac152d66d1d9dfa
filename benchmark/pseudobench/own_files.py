"""For plugins whose datasets are files that users bring."""

from pseudobench.base.own_files import TEST_SHARE, canonical_path, fingerprint, held_for_testing, read_table

__all__ = ["TEST_SHARE", "canonical_path", "fingerprint", "held_for_testing", "read_table"]
