"""Sends an exported model to a hub: ``python -m sluice.push FOLDER NAME``.

The hub is the one that huggingface_hub knows, with the user's own login (`hf auth login`, ``HF_TOKEN``) and address (``HF_ENDPOINT``).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

from .errors import BadRequest, EnvironmentFailed, SluiceError
from .trackers import needed


def _model_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    path = pathlib.Path(folder)
    if (path / "metrics.jsonl").exists():
        raise BadRequest(f"{path} is a run: sluice export {path} -o FOLDER writes the model folder to push")
    if not (path / "config.json").is_file() or not any(path.glob("*.safetensors")):
        raise BadRequest(f"{path} lacks config.json or weights (*.safetensors): sluice export RUN -o FOLDER writes a model folder")
    return path


def push(folder: str | os.PathLike[str], name: str, *, public: bool = False, message: str = "Exported by Sluice") -> str:
    """Uploads a model folder, and returns the address of what was made of it.

    Args:
        folder: what ``sluice export`` wrote.
        name: the hub's name of the model, ``"OWNER/MODEL"``; a repository that is not there yet is made.
        public: make a new repository public; else only its owner sees it. One that is there stays as it is.
        message: what the hub's history says of it.

    Raises:
        BadRequest: the folder is no model folder, or the name no name of a hub.
        EnvironmentFailed: huggingface_hub is missing, the hub does not answer, or it refuses.
    """
    path = _model_folder(folder)
    if name.count("/") != 1 or not all(name.split("/")):
        raise BadRequest(f"{name}: a model of a hub is named OWNER/MODEL")
    hub = needed("huggingface_hub", "sluice.push")
    try:
        api = hub.HfApi()
        api.create_repo(name, private=not public, exist_ok=True)
        done = api.upload_folder(repo_id=name, folder_path=path, commit_message=message)
    except Exception as error:  # Of the HTTP library that huggingface_hub uses, which changes with its version.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise EnvironmentFailed(f"{name} was not pushed: {' '.join(lines) or type(error).__name__}") from error
    return str(getattr(done, "commit_url", done))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.push", description="Sends an exported model to a hub.")
    parser.add_argument("folder", help="the folder that sluice export wrote")
    parser.add_argument("name", metavar="OWNER/MODEL", help="the model's name on the hub; made where it is not there")
    parser.add_argument("--public", action="store_true", help="make a new repository public (else only its owner sees it)")
    parser.add_argument("--message", default="Exported by Sluice", help="what the hub's history says of it (Exported by Sluice)")
    options = parser.parse_args(words)
    try:
        print(push(options.folder, options.name, public=options.public, message=options.message))
    except SluiceError as error:
        print(f"sluice.push: error: {error}", file=sys.stderr)
        return 4 if isinstance(error, EnvironmentFailed) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
