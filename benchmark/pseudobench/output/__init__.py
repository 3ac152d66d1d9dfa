"""What people see: tables as text, the terminal, the report, figures."""
