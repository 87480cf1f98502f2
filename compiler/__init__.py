"""gigatok-compile: a grammar compiler that generates specialised tokenizers."""

__version__ = "0.1.0"
