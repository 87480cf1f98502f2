"""Stage 1: a definition file to a TokenizerDefinition."""

from gigatok_compile.definition.read import read_definition
from gigatok_compile.definition.tiktoken_ranks import Grammar

__all__ = ["read_definition", "Grammar"]
