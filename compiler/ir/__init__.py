"""Frozen, typed, printable intermediate representations, one file a stage. They import only `errors`."""
