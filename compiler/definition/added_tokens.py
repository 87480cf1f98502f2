"""The `added_tokens` of a tokenizer.json, with the ids the reference gives them.

The `id` in the file is advisory. Tokens are taken in file order: one whose content is in the model's vocabulary has
that id; any other gets the next number from the vocabulary's *count* upwards, which in a vocabulary with gaps is not
the file's number and may even be an id that is taken.
"""

from __future__ import annotations

from collections.abc import Mapping

from gigatok_compile.definition.fields import Fields
from gigatok_compile.ir.definition import AddedToken


def read_added_tokens(fields: Fields, vocab: Mapping[str, int]) -> tuple[tuple[AddedToken, ...], tuple[str, ...]]:
    """The added tokens in file order, and warnings about ids that are not what the file says.

    Args:
        fields: the whole file.
        vocab: the model's vocabulary, text of the file to id.

    Raises:
        DefinitionError: a malformed token, or one content twice with different settings.
    """
    if "added_tokens" not in fields.values:
        return (), ()
    found: dict[str, AddedToken] = {}
    taken = set(vocab.values())
    warnings: list[str] = []
    next_id = len(vocab)
    for entry in fields.children("added_tokens"):
        advisory, content = entry.unsigned("id"), entry.string("content")
        settings = {flag: entry.boolean(flag) for flag in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        if not content:
            warnings.append(f"{entry.where}: an empty token can never match and is left out, as in the reference")
            continue
        token_id = found[content].id if content in found else vocab.get(content, next_id)
        token = AddedToken(token_id, content, **settings)
        if content in found:
            if found[content] != token:
                entry.fail("content", f"{content!r} is added twice with different settings", "keep one of the two")
            continue
        if token_id == next_id and content not in vocab:
            if token_id in taken:
                warnings.append(f"{entry.where}: {content!r} gets id {token_id}, which another entry has too")
            next_id += 1
        if token_id != advisory:
            warnings.append(
                f"{entry.where}: {content!r} has id {token_id} as in the reference, the file says {advisory}"
            )
        found[content] = token
    return tuple(found.values()), tuple(warnings)
