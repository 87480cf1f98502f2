"""What a generated module needs in Python. Imports nothing of the compiler."""
