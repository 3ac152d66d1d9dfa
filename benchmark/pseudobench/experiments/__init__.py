"""What is to be run: experiments, presets, resolved run specs, splits, weight files."""
