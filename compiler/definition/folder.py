"""A Hugging Face folder: which file defines the tokenizer, and what the files around it add.

tokenizer.json is the truth. tokenizer_config.json and special_tokens_map.json name the tokens that have a role, and a few
settings. Where they contradict tokenizer.json, transformers may change the tokenizer when it loads it; here nothing is changed,
and each contradiction is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gigatok_compile.definition.fields import Fields, json_name
from gigatok_compile.definition.json_text import parse_json
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import ByteLevelStep, TokenizerDefinition

DEFINITIONS: Final = ("tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
"""Names of files that define a tokenizer, the best first; each may end in .xz."""

CONFIG: Final = "tokenizer_config.json"
SPECIAL: Final = "special_tokens_map.json"
ROLES: Final = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")
_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")
_BERT: Final = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
_NO_LIMIT: Final = 2**31  # transformers writes 10**30 where a model has no limit


def choose_file(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The file that defines the tokenizer of a folder, and a warning when there are others.

    Raises:
        DefinitionError: there is none.
    """
    found = [path for name in DEFINITIONS for path in (folder / name, folder / f"{name}.xz") if path.is_file()]
    if not found:
        raise DefinitionError(
            "no tokenizer definition is in this folder",
            where=str(folder),
            hint=f"looked for: {', '.join(DEFINITIONS)}; a file of another name can be named itself",
        )
    taken, *others = found
    if not others:
        return taken, ()
    names = ", ".join(path.name for path in others)
    return taken, (f"{taken.name} is taken; also in the folder, and not read: {names}",)


def add_folder_files(definition: TokenizerDefinition, folder: Path) -> TokenizerDefinition:
    """The definition with roles, settings and warnings from the files beside it.

    Raises:
        DefinitionError: such a file is not JSON, or a field in it has a type that transformers does not load.
    """
    config, special = _read(folder / CONFIG), _read(folder / SPECIAL)
    if config is None and special is None:
        return definition
    config, special = config or Fields({}, CONFIG), special or Fields({}, SPECIAL)
    warnings: list[str] = []
    roles = dict(definition.roles)
    if definition.source_format == "tokenizer.json":
        roles |= _roles(definition, config, special, warnings.append)
        warnings += _contradictions(definition, config, roles)
    return replace(definition, roles=roles, settings=_settings(config), warnings=definition.warnings + tuple(warnings))


def _read(path: Path) -> Fields | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DefinitionError(f"cannot be read: {error.strerror}", where=path.name) from None
    try:
        return Fields.of(parse_json(data), path.name)
    except DefinitionError as error:
        raise DefinitionError(error.message, where=path.name, hint=error.hint) from None


def _roles(
    definition: TokenizerDefinition, config: Fields, special: Fields, warn: Callable[[str], None]
) -> dict[str, int]:
    """Role -> id. As in transformers, the map counts only where the configuration has no list of added tokens."""
    ids = {token.content: token.id for token in reversed(definition.added_tokens)}
    entries = {token: i for i, token in enumerate(definition.model.tokens) if token is not None}
    sources = (config,) if "added_tokens_decoder" in config.values else (special, config)
    roles: dict[str, int] = {}
    for role in ROLES:
        for fields in sources:
            content = _content(fields, f"{role}_token")
            if content is None:
                continue
            number = ids.get(content, entries.get(content.encode()))
            if number is None:
                warn(
                    f"{fields.path(f'{role}_token')}: {content!r} is not in tokenizer.json;"
                    " transformers would add it, here it is left out"
                )
            else:
                roles[role] = number
            break
    return roles


def _content(fields: Fields, key: str) -> str | None:
    """The text of a token that is given as a string or as an object."""
    value = fields.values.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return fields.child(key).string("content")
    fields.fail(key, f"expected a string or an object with a content, found {json_name(value)}")


def _settings(config: Fields) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    limit = config.values.get("model_max_length")
    if isinstance(limit, int | float) and not isinstance(limit, bool) and 0 < limit < _NO_LIMIT:
        settings["model_max_length"] = int(limit)
    if config.values.get("padding_side") in ("left", "right"):
        settings["padding_side"] = config.values["padding_side"]
    return settings


def _contradictions(definition: TokenizerDefinition, config: Fields, roles: dict[str, int]) -> Iterator[str]:
    """What transformers would change, one sentence each."""
    yield from _token_contradictions(definition, config)
    post = definition.post_processor
    for role, ids in (("bos", post.prefix), ("eos", post.suffix)):
        wanted = config.values.get(f"add_{role}_token")
        if isinstance(wanted, bool) and role in roles and wanted != (roles[role] in ids):
            yield (
                f"{config.path(f'add_{role}_token')} is {str(wanted).lower()}, and the post-processor of tokenizer.json"
                f" {'does not add' if wanted else 'adds'} the token; tokenizer.json is taken"
            )
    wanted = config.values.get("add_prefix_space")
    for step in definition.pre_tokenizer:
        if isinstance(step, ByteLevelStep) and isinstance(wanted, bool) and wanted != step.add_prefix_space:
            yield (
                f"{config.path('add_prefix_space')} is {str(wanted).lower()}, and {step.where} says otherwise;"
                " tokenizer.json is taken"
            )
    for normalizer in definition.normalizer:
        if normalizer.kind == "BertNormalizer":
            for key, option in _BERT.items():
                if key in config.values and config.values[key] != normalizer.options.get(option):
                    yield (
                        f"{config.path(key)} is {config.values[key]!r}, and {normalizer.where}.{option} is"
                        f" {normalizer.options.get(option)!r}; tokenizer.json is taken"
                    )
    if config.values.get("clean_up_tokenization_spaces") is True:
        yield (
            f"{config.path('clean_up_tokenization_spaces')} is true: transformers takes spaces before punctuation out of"
            " decoded text, here nothing is taken out"
        )


def _token_contradictions(definition: TokenizerDefinition, config: Fields) -> Iterator[str]:
    if config.values.get("added_tokens_decoder") is None:
        return
    tokens = {token.content: token for token in definition.added_tokens}
    decoder = config.child("added_tokens_decoder")
    for key in decoder.values:
        entry = decoder.child(key)
        content = entry.string("content")
        token = tokens.get(content)
        if token is None:
            yield f"{entry.where}: {content!r} is no added token of tokenizer.json; it is left out"
            continue
        differing = [flag for flag in _FLAGS if flag in entry.values and entry.values[flag] != getattr(token, flag)]
        if key != str(token.id):
            yield f"{entry.where}: {content!r} has id {token.id} in tokenizer.json, which is taken"
        if differing:
            yield f"{entry.where}: {content!r} has another {', '.join(differing)} in tokenizer.json, which is taken"
