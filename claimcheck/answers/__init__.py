"""A function for each question, with a typed answer, which commands and the Python API render."""
