#!/usr/bin/env python3
"""Cuts the manuals of Perl and Python into token ids: text.py FOLDER -> FOLDER/ids.npy (uint16, one stream).

Needs network access to Debian's archive (`apt-get download`), dpkg-deb, and Python's tokenizers and numpy.
The vocabulary is 16,384 byte pairs, learnt from the same text."""

import pathlib
import subprocess
import sys

import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PACKAGES = ("perl-doc", "python3.11-doc")


def manuals(folder: pathlib.Path) -> list[str]:
    """Texts of the packages' manuals, in the order of their names, without those that stand twice."""
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, folder / "files"], check=True)
    names = sorted([*folder.glob("files/**/*.pod"), *folder.glob("files/**/_sources/**/*.rst.txt")])
    return list(dict.fromkeys(name.read_text(errors="replace") for name in names if not name.is_symlink()))


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    texts = manuals(folder)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=16384, special_tokens=["<|end|>"], show_progress=False,
                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    # Whole texts in a mixed order, so that the end, which validates, is of the same kind as the rest.
    order = numpy.random.default_rng(0).permutation(len(texts))
    stream = []
    for number in order:
        stream += [*tokenizer.encode(texts[number]).ids, 0]
    numpy.save(folder / "ids.npy", numpy.array(stream, dtype="uint16"))
    print(f"{len(texts)} texts, {sum(map(len, texts))} characters, {len(stream)} tokens")


if __name__ == "__main__":
    main()
