"""Tools without knowledge of the domain: seeds, hashes, paths, threads, the machine."""
