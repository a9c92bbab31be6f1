"""Models of SentencePiece, written and read, and the library's tokenizer that transformers makes of Llama's."""

import struct

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a protocol buffer: a number, a float, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def write_model(file, pieces, kind):
    """A model of SentencePiece (sentencepiece_model.proto): pieces of text, score and kind."""
    out = b""
    for text, score, piece_kind in pieces:
        out += field(1, field(1, text.encode()) + field(2, float(score)) + field(3, piece_kind))
    out += field(2, field(3, kind) + field(35, 1) + field(45, b"<unk>")) + field(3, field(1, b"identity"))
    file.write_bytes(out)


def read_model(file):
    """The pieces of a model of SentencePiece."""

    def fields(data):
        at = 0

        def number():
            nonlocal at
            value = shift = 0
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value

        while at < len(data):
            key = number()
            size = {0: 0, 1: 8, 5: 4}.get(key & 7)
            if size == 0:
                yield key >> 3, number()
                continue
            if size is None:
                size = number()
            yield key >> 3, data[at : at + size]
            at += size

    pieces = []
    for name, value in fields(file.read_bytes()):
        if name == 1:
            piece = dict(fields(value))
            score = struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0
            pieces.append((piece[1].decode(), score, piece.get(3, NORMAL)))
    return pieces


def merges_of(pieces):
    """Each way to make a piece of two others, by descending score, then by the length of the parts."""
    number = {text: index for index, (text, _, _) in enumerate(pieces)}
    found = []
    for index, (text, score, _) in enumerate(pieces):
        score = 0.0 if index < 3 else score
        local = [(text[:cut], text[cut:], score) for cut in range(1, len(text)) if {text[:cut], text[cut:]} <= number.keys()]
        found += sorted(local, key=lambda each: (number[each[0]], number[each[1]]))
    found.sort(key=lambda each: (each[2], len(each[0]), len(each[1])), reverse=True)
    return [(left, right) for left, right, _ in found]


def llama_decoder(strips):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strips else []))


def llama_library(pieces):
    """transformers' LlamaConverter ("legacy") on the pieces of a BPE model."""
    vocabulary = {text: index for index, (text, _, _) in enumerate(pieces)}
    library = Tokenizer(models.BPE(vocabulary, merges_of(pieces), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    library.decoder = llama_decoder(True)
    added = [(text, kind == CONTROL) for text, _, kind in pieces if kind in (CONTROL, USER_DEFINED)]
    library.add_tokens([AddedToken(text, normalized=False, special=special) for text, special in added])
    return library
