"""Pure functions of tensors and numbers: no network, no file, no state."""
