"""The command line: one module per subcommand, one error boundary (`main`)."""
