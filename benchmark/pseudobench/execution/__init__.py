"""Where and when runs happen: loading datasets, executing runs here or elsewhere, writing their records."""
