"""What helps beyond the server's answer: hints on how to put an error right, and lints for what the server takes."""
