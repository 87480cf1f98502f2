"""imply_cuts: give a definition without a splitting step the one that its vocabulary implies (cut_pattern.py)."""

from __future__ import annotations

from dataclasses import replace

from gigatok_compile.ir.definition import BpeModel, PreTokenizerStep, SplitStep, TokenizerDefinition
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.vocabulary.atom_tables import UTF8_BYTES
from gigatok_compile.vocabulary.cut_pattern import cut_step
from gigatok_compile.vocabulary.self_encoding import Derivations


def imply_cuts(definition: TokenizerDefinition, derivations: Derivations) -> TokenizerDefinition:
    """The definition with one more step, or as it is.

    Nothing is added where the definition's own steps cut between words (a pattern that cuts off words is the finer one as
    a rule), where a whole pre-token may be an entry that merging does not make (ignore_merges), where entries depend on
    their place in the word, and where unknown characters vanish, so that their neighbours touch.
    """
    model = definition.model
    assert isinstance(model, BpeModel)
    if model.atoms != "characters" or model.ignore_merges or model.affixes is not None or model.hidden:
        return definition
    kept = [step for step in definition.pre_tokenizer if not _idle(step, definition.mark)]
    if any(isinstance(step, SplitStep) and not step.component.startswith("Metaspace") for step in kept):
        return definition
    unknown = _unknown(model, derivations)
    if unknown is not None and model.unk_id < 0:
        return definition
    made = [
        token.decode()
        for token, reachable in zip(model.tokens, derivations.reachable.tolist(), strict=True)
        if token and reachable
    ]
    step = cut_step(made, unknown, joins_spaces=bool(definition.mark))
    return replace(definition, pre_tokenizer=(*kept, step))


def _idle(step: PreTokenizerStep, mark: str) -> bool:
    """A step that cuts no text: Gemma 3 looks for spaces after all of them have become marks."""
    if not isinstance(step, SplitStep) or step.is_regex or step.invert or not mark:
        return False
    return step.swapped == mark and " " in step.pattern


def _unknown(model: BpeModel, derivations: Derivations) -> CodeSet | None:
    """Characters that fall back to no bytes; None if all have something to fall back to."""
    if (model.byte_ids[UTF8_BYTES] >= 0).all():
        return None
    atoms = derivations.atoms
    known = [(c, c) for c in atoms.characters[0]]
    known += [(c, c) for c in range(128) if atoms.bytes[0, c] >= 0]
    return CodeSet.of(known).complement()
