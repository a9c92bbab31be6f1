"""Compares ids on a text of many languages with every class of tokenizers, and measures the library and the driver.

    python3 experiments/tokenizer_agreement/agree.py OUT [--megabytes N] [--driver PROGRAM] [FILE|FOLDER...]

OUT/pages holds unpacked packages of manual pages (run puts them there).
"""

import argparse
import array
import gzip
import json
import pathlib
import subprocess
import sys
import time

import tokenizers

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Texts are cut behind the first end of a line from here on, on both sides.
DOCUMENT_BYTES = 8192


def page_text(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def pages_text(pages, most):
    """The sources of the pages, in turn from each package, until there are `most` bytes."""
    packages = [
        iter(sorted(path for path in package.rglob("usr/share/man/**/*") if path.is_file() and not path.is_symlink()))
        for package in sorted(pages.iterdir())
    ]
    parts, size = [], 0
    while packages and size < most:
        for package in list(packages):
            path = next(package, None)
            if path is None:
                packages.remove(package)
                continue
            text = page_text(path)
            parts.append(text)
            size += len(text.encode())
    return "".join(parts).encode()[:most].decode(errors="ignore")


def documents_of(data):
    begin, documents = 0, []
    while begin < len(data):
        end = data.find(b"\n", begin + DOCUMENT_BYTES)
        end = len(data) if end < 0 else end + 1
        documents.append(data[begin:end].decode())
        begin = end
    return documents


def library_ids(library, documents):
    """The ids of all documents, a -1 behind each, and the seconds of processor time."""
    ids, seconds = array.array("i"), 0.0
    for first in range(0, len(documents), 64):
        began = time.process_time()
        encodings = library.encode_batch_fast(documents[first : first + 64], add_special_tokens=False)
        seconds += time.process_time() - began
        for encoding in encodings:
            ids.extend(encoding.ids)
            ids.append(-1)
    return ids, seconds


def driver_ids(driver, file, text_file):
    run = subprocess.run([driver, "--ids", str(file), str(text_file)], capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{file}: {run.stderr.decode()}")
    ids = array.array("i")
    ids.frombytes(run.stdout)
    return ids, json.loads(run.stderr)["seconds"]


def tekken_library(file):
    """The library's tokenizer for a tekken.json of mistral-common, without its special tokens."""
    import base64

    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    document = json.loads(file.read_text())
    config = document["config"]
    special = config["default_num_special_tokens"]
    wanted = config["default_vocab_size"] - special
    letters = byte_letters()
    tokens = [base64.b64decode(each["token_bytes"]) for each in document["vocab"][:wanted]]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    merges = []
    for rank, token in enumerate(tokens):
        local = []
        for cut in range(1, len(token)):
            left, right = ranks.get(token[:cut]), ranks.get(token[cut:])
            if left is not None and right is not None and max(left, right) < rank:
                local.append((left, right))
        merges += [(tokens[left], tokens[right]) for left, right in sorted(local)]

    def name(token):
        return "".join(letters[byte] for byte in token)

    vocabulary = {name(token): rank for rank, token in enumerate(tokens)}
    pairs = [(name(left), name(right)) for left, right in merges]
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(config["pattern"]), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_letters():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, after = {}, 256
    for byte in range(256):
        letters[byte] = chr(byte) if byte in visible else chr(after)
        after += byte not in visible
    return letters


def given_subjects(out, given):
    """(name, the library's tokenizer, what the driver reads) of each given file and folder."""
    folder = out / "trained"
    folder.mkdir(exist_ok=True)
    for place in map(pathlib.Path, given):
        if place.is_dir():
            from sentencepiece_models import llama_library, read_model

            yield place.name, llama_library(read_model(place / "tokenizer.model")), place
        elif place.name.startswith("tekken"):
            library = tekken_library(place)
            file = folder / f"{place.stem}.json"
            library.save(str(file))
            yield place.stem, library, file
        else:
            yield place.stem, tokenizers.Tokenizer.from_file(str(place)), place


def trained_subjects(out):
    """The same of every class, trained here."""
    from tokenizer_classes import CLASSES, train
    from tokenizer_texts import hard_texts

    folder = out / "trained"
    folder.mkdir(exist_ok=True)
    corpus = [path.read_text() for path in sorted((REPOSITORY / "docs" / "reference").glob("*.md"))][:6] + hard_texts(1, 300)
    for name in CLASSES:
        file = folder / f"{name.replace(' ', '-')}.json"
        if not file.is_file():
            train(file, name, corpus)
        yield name, tokenizers.Tokenizer.from_file(str(file)), file


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--trained", type=float, help="megabytes for the classes that are trained here")
    parser.add_argument("--driver", default=str(REPOSITORY / "build" / "bin" / "tokenizer_driver"))
    parser.add_argument("given", nargs="*")
    asked = parser.parse_intermixed_args()
    most = max(asked.megabytes, asked.trained or 0)
    text = pages_text(asked.out / "pages", int(most * 1e6)).encode()
    print(f"tokenizers {tokenizers.__version__}; one core", flush=True)
    differing = compare_all(asked, text, asked.megabytes, given_subjects(asked.out, asked.given))
    differing += compare_all(asked, text, asked.trained or asked.megabytes, trained_subjects(asked.out))
    sys.exit(f"{differing} classes differ" if differing else 0)


def compare_all(asked, text, megabytes, subjects):
    """Prints a line for each subject; the number of those whose ids differ."""
    data = text[: int(megabytes * 1e6)].decode(errors="ignore").encode()
    text_file = asked.out / "text"
    text_file.write_bytes(data)
    documents = documents_of(data)
    print(f"{len(data)} bytes, {len(documents)} texts", flush=True)
    print(f"{'class':<28}{'tokens':>11}{'differ':>8}{'ours':>12}{'library':>12}{'ratio':>7}", flush=True)
    differing = 0
    for name, library, file in subjects:
        theirs, library_seconds = library_ids(library, documents)
        ours, seconds = driver_ids(asked.driver, file, text_file)
        differ = sum(a != b for a, b in zip(ours, theirs)) + abs(len(ours) - len(theirs)) if ours != theirs else 0
        differing += differ > 0
        speeds = [len(data) / 1e6 / each for each in (seconds, library_seconds)]
        print(
            f"{name:<28}{len(theirs) - len(documents):>11}{differ:>8}{speeds[0]:>7.1f} MB/s{speeds[1]:>7.1f} MB/s"
            f"{speeds[0] / speeds[1]:>7.1f}",
            flush=True,
        )
    return differing


if __name__ == "__main__":
    main()
