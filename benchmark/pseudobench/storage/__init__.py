"""What is kept on disk: run records, cached computations, notes about scheduled jobs."""
