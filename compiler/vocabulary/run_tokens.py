"""find_run_tokens: added tokens that need not be looked for, since the model makes the same ids of their text.

Gemma 3 lists runs of 1 to 31 newlines, and of tabs, as added tokens. Looked for, they cut every text at every line, and each
line costs a start of the kernels. But they are entries too, which merging makes of a run of just that length; nothing joins
a newline to what stands around it; and what is between added tokens is not changed by being cut there. So a run of up to 31
newlines comes out as the same id either way. Only for a longer run do the two differ (the matcher takes 31, then 31 more;
merging may take 16 and 16), so only one more than the longest is looked for, and where it is found the longest is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gigatok_compile.ir.definition import AddedToken, SplitStep, TokenizerDefinition
from gigatok_compile.vocabulary.self_encoding import Derivations


@dataclass(frozen=True, slots=True)
class RunTokens:
    """One character's runs. numbers: the added tokens for 1, 2, ... of them, without a gap."""

    byte: int
    numbers: tuple[int, ...]


def find_run_tokens(definition: TokenizerDefinition, derivations: Derivations) -> tuple[RunTokens, ...]:
    """The runs for which the argument above holds. `definition` has the step that its vocabulary implies."""
    steps = definition.pre_tokenizer
    if not steps or any(not isinstance(step, SplitStep) or not step.derived for step in steps):
        return ()
    # what would see that the text is not cut there: other normalizers, stripped neighbours
    if not all(_is_local(step.kind, step.options, definition.mark) for step in definition.normalizer):
        return ()
    tokens = definition.added_tokens
    if any(token.lstrip or token.rstrip for token in tokens):
        return ()
    found = []
    for char in sorted({token.content[0] for token in tokens if token.content}):
        numbers = _run(tokens, char)
        if numbers and _stands_apart(char, definition, derivations) and _made(definition, derivations, numbers):
            found.append(RunTokens(ord(char), numbers))
    return tuple(found)


def _is_local(kind: str, options: dict[str, object], mark: str) -> bool:
    """A normalizer that makes the same of a text in parts: the replacement of marks by spaces."""
    return kind == "Replace" and bool(mark) and options.get("string") == mark


def _run(tokens: Sequence[AddedToken], char: str) -> tuple[int, ...]:
    """The tokens for runs of `char`, 1 upwards; none if one is missing or another token holds the character."""
    if not char.isascii() or char.isalnum() or char == "_":  # \\w: single_word looks at neighbours
        return ()
    by_length: dict[int, int] = {}
    for number, token in enumerate(tokens):
        if char not in token.content:
            continue
        if token.normalized or token.single_word or token.special or set(token.content) != {char}:
            return ()
        by_length[len(token.content)] = number
    complete = sorted(by_length) == [*range(1, len(by_length) + 1)]
    return tuple(by_length[length] for length in sorted(by_length)) if complete else ()


def _stands_apart(char: str, definition: TokenizerDefinition, derivations: Derivations) -> bool:
    """Nothing that merging makes holds the character and another one."""
    if definition.mark and char == " ":
        return False
    byte = char.encode()
    made = zip(definition.model.tokens, derivations.reachable.tolist(), strict=True)
    return not any(token and reachable and byte in token and token.strip(byte) for token, reachable in made)


def _made(definition: TokenizerDefinition, derivations: Derivations, numbers: Sequence[int]) -> bool:
    """Merging makes each of the tokens of its text."""
    entries, tokens = definition.model.tokens, definition.added_tokens
    ids = [(tokens[number].id, tokens[number].content.encode()) for number in numbers]
    return all(i < len(entries) and entries[i] == text and bool(derivations.reachable[i]) for i, text in ids)
