"""Finding plugins, checking their components, and starting new ones."""
