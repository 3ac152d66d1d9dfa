"""Everything that decides a network's weights. Its code is part of every cached network's key."""
