"""The text files of a generated package: its Python and its manifest."""

from __future__ import annotations

from gigatok_compile.emit.environment import make_environment
from gigatok_compile.manifest import manifest_text
from gigatok_runtime.manifest import Manifest
from gigatok_runtime.special import default_mode, joins_surrogates


def render_package_files(manifest: Manifest) -> dict[str, str]:
    """`__init__.py`, `__main__.py`, `py.typed` and `manifest.json`. The rest of a package is the library and definition.npz."""
    name = manifest["name"]
    values = {
        "name": name,
        "docstring": _docstring(manifest),
        "version": repr(manifest["version"]),
        "engine": repr(manifest["engine"]),
        "special": repr(bytes(int(token["special"]) for token in manifest["added_tokens"])),
        "default_error": default_mode(manifest["source_format"]) == "error",
        "python_decoder": manifest["decoder_engine"] == "python",
        "join_surrogates": joins_surrogates(manifest["source_format"]),
    }
    environment = make_environment()
    templates = {"__init__.py": "module_init.py.j2", "__main__.py": "module_main.py.j2"}
    files = {file: environment.get_template(template).render(values) for file, template in templates.items()}
    return files | {"manifest.json": manifest_text(manifest), "py.typed": ""}


def _docstring(manifest: Manifest) -> str:
    lines = [
        f"{manifest['name']}: a tokenizer compiled by gigatok-compile. Do not edit.",
        "",
        f"Ids are those of {manifest['reference']} for the definition with sha256",
        manifest["definition_sha256"] + ".",
        "",
        f"    import {manifest['name']}",
        f'    {manifest["name"]}.encode("Hello world")        # numpy uint32 array',
        f"    {manifest['name']}.encode_batch(texts)          # ids and offsets of many texts",
        f"    {manifest['name']}.tokenizer                    # all of it, with vocabulary and special tokens",
        "",
    ]
    return "\n".join(lines)
