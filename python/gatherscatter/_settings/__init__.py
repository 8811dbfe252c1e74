"""Settings of the process: threads, environment variables, and what is installed."""
