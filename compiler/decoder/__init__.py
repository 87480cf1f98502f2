"""Decoders: what every id becomes in a text, worked out at compile time where that can be done."""
