"""Small tokenizers of every class that decoder models have, trained here with the tokenizers library: the components of
the published ones, and each component that they leave out."""

import base64
import json
import struct

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = {
    "qwen2": GPT4.replace("{1,3}", ""),
    "qwen3.5": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+"
    ),
    "llama3": GPT4,
    "tekken": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "cl100k possessive": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "kimi": (
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+"
    ),
}
DEEPSEEK = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
]
DEEPSEEK_CODER = [
    r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}",
    r"[\p{P}&&[^-]]|[\p{S}&&[\p{L}\p{S}]]",
]  # fmt: skip


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(use_regex=True, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


def charsmap(pairs):
    """A map of SentencePiece (Darts' double array) for `pairs`, in Base64: each node has 256 places of its own."""
    texts, starts = b"", {}
    for _, value in pairs:
        starts.setdefault(value, None)
    for value in starts:
        starts[value] = len(texts)
        texts += value.encode() + b"\0"
    nodes = [{}]
    values = {}
    for key, value in pairs:
        node = 0
        for byte in key.encode():
            if byte not in nodes[node]:
                nodes.append({})
                nodes[node][byte] = len(nodes) - 1
            node = nodes[node][byte]
        values[node] = starts[value]
    # The children of node n lie at place (n + 1) * 256 xor byte; byte 0 holds the value.
    base = [(number + 1) * 256 for number in range(len(nodes))]
    units = [0] * ((len(nodes) + 1) * 256)

    def unit(label, place, node):
        distance = place ^ base[node]
        assert distance % 256 == 0 or distance < 1 << 21
        packed = (distance >> 8) << 10 | 1 << 9 if distance % 256 == 0 else distance << 10
        return packed | (1 << 8 if node in values else 0) | label

    units[0] = unit(0, 0, 0)
    for number, children in enumerate(nodes):
        for byte, child in children.items():
            place = base[number] ^ byte
            units[place] = unit(byte, place, child)
        if number in values:
            units[base[number]] = values[number] | 1 << 31
    packed = struct.pack(f"<{len(units)}I", *units)
    return base64.b64encode(struct.pack("<I", len(packed)) + packed + texts).decode()


# Wide forms, ligatures, a combined letter, what becomes nothing or a space: kinds of entries of nmt_nfkc.
CHARSMAP = [("ａ", "a"), ("ﬁ", "fi"), ("①", "1"), ("é", "é"), ("\u00a0", " "), ("\u3000", " "), ("…", "..."),
            ("㍿", "株式会社"), ("\u200d", " "), ("\t", " "), ("\n", " "), ("Å", "Å"), ("ｶﾞ", "ガ"), ("\u00ad", ""), ("e\u0301", "xy"), ("o\u0308", "abc")]  # fmt: skip


def llama2(t):
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )


def gemma(t):
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])


def metaspace(scheme, do_split):
    def build(t):
        t.pre_tokenizer = pre_tokenizers.Metaspace("▁", scheme, do_split)
        t.decoder = decoders.Metaspace("▁", scheme, do_split)

    return build


def byte_words(*steps, normalizer=None):
    def build(t):
        t.normalizer = normalizer
        t.pre_tokenizer = pre_tokenizers.Sequence(list(steps)) if len(steps) > 1 else steps[0]
        t.decoder = decoders.ByteLevel()
        t.post_processor = processors.ByteLevel(trim_offsets=False)

    return build


def parts(normalizer=None, pre_tokenizer=None, decoder=None):
    def build(t):
        t.normalizer, t.pre_tokenizer, t.decoder = normalizer, pre_tokenizer, decoder

    return build


def sentencepiece(t):
    nfkc = json.dumps({"type": "Precompiled", "precompiled_charsmap": charsmap(CHARSMAP)})
    document = json.loads(t.to_str())
    document["normalizer"] = {
        "type": "Sequence",
        "normalizers": [
            json.loads(nfkc),
            {"type": "Strip", "strip_left": False, "strip_right": True},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
        ],
    }
    t.normalizer = Tokenizer.from_str(json.dumps(document)).normalizer
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always")
    t.decoder = decoders.Metaspace("▁", "always")


BYTES = {"kind": "bytes"}
FALLBACK = {"kind": "fallback"}
UNIGRAM = {"kind": "unigram"}
LETTERS = {"kind": "letters"}
n, p, d = normalizers, pre_tokenizers, decoders

# Name: what the model is, and a function that sets the other components.
CLASSES = {
    "gpt2": (BYTES, byte_words(byte_level())),
    "gpt2 with a space": (BYTES, byte_words(byte_level(prefix=True))),
    "qwen2": (BYTES, byte_words(split(PATTERNS["qwen2"]), byte_level(False), normalizer=n.NFC())),
    "qwen3.5": (BYTES, byte_words(split(PATTERNS["qwen3.5"]), byte_level(False), normalizer=n.NFC())),
    "llama3": ({"kind": "bytes", "ignore_merges": True}, byte_words(split(PATTERNS["llama3"]), byte_level(False))),
    "tekken": ({"kind": "bytes", "ignore_merges": True}, byte_words(split(PATTERNS["tekken"]), byte_level(False))),
    "o200k": (BYTES, byte_words(split(PATTERNS["o200k"], "removed", True), byte_level(False))),
    "cl100k possessive": (BYTES, byte_words(split(PATTERNS["cl100k possessive"]), byte_level(False))),
    "kimi": (BYTES, byte_words(split(PATTERNS["kimi"]), byte_level(False))),
    "deepseek v3": (BYTES, byte_words(*map(split, DEEPSEEK), byte_level(False), normalizer=n.Sequence([]))),
    "deepseek coder": (BYTES, byte_words(*map(split, DEEPSEEK_CODER), byte_level(False))),
    "smollm": (BYTES, byte_words(p.Digits(True), byte_level())),
    "falcon": (
        BYTES,
        byte_words(p.Punctuation("contiguous"), byte_level(), p.Digits(False), split("[0-9][0-9][0-9]")),
    ),
    "llama2": (FALLBACK, llama2),
    "gemma": (FALLBACK, gemma),
    "mistral v0.3": (FALLBACK, metaspace("first", False)),
    "metaspace always": (FALLBACK, metaspace("always", True)),
    "metaspace first": (FALLBACK, metaspace("first", True)),
    "metaspace never": (FALLBACK, metaspace("never", True)),
    "t5": (UNIGRAM, sentencepiece),
    "unigram bytes": ({"kind": "unigram", "byte_fallback": True}, metaspace("always", True)),
    "unigram nfkc": (
        UNIGRAM,
        parts(n.Sequence([n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " ")]), p.Metaspace("▁", "first")),
    ),
    "nfd and lower case": (LETTERS, parts(n.Sequence([n.NFD(), n.Lowercase(), n.StripAccents()]), p.Whitespace())),
    "nfkd": (LETTERS, parts(n.NFKD(), p.WhitespaceSplit(), d.Fuse())),
    "strip": (LETTERS, parts(n.Strip(), p.UnicodeScripts(), d.Strip("a", 2, 0))),
    "bert": (
        {"kind": "wordpiece"},
        parts(n.BertNormalizer(), p.BertPreTokenizer(), d.WordPiece()),
    ),
    "cased bert": (
        {"kind": "wordpiece"},
        parts(n.BertNormalizer(True, False, None, False), p.BertPreTokenizer(), d.WordPiece(cleanup=False)),
    ),
    "words": ({"kind": "words"}, parts(None, p.CharDelimiterSplit("e"), d.CTC())),
    "suffix": ({"kind": "suffix"}, parts(n.NFC(), p.BertPreTokenizer(), d.BPEDecoder())),
    "prefix": ({"kind": "prefix"}, parts(None, p.Punctuation("merged_with_previous"), None)),
    "unknown, fused": ({"kind": "letters", "fuse_unk": True}, parts(None, p.FixedLength(7), None)),
    "letters of bytes": (BYTES, parts(n.ByteLevel(), split(r"\s*\S+", "contiguous"), d.ByteLevel())),
    "merged with next": (LETTERS, parts(n.Prepend("x "), split(r"[aeiou\s]", "merged_with_next"), None)),
    "replacing decoder": (LETTERS, parts(None, p.Split("e", "removed"), d.Sequence([d.Replace(Regex("[ab]+"), "_"), d.Fuse()]))),
    "empty matches": (LETTERS, parts(None, split(r"(?=\p{Lu})|\b|(?<=,)", "merged_with_previous"), None)),
    "posix": (LETTERS, parts(None, split(r"[[:alpha:]]+|[[:punct:]]|[[:upper:]\h&&[^d-f]]|\P{L}{2}|[^[:^space:]]"), None)),
}


def model_of(settings):
    kind = settings["kind"]
    if kind == "bytes":
        return models.BPE(ignore_merges=settings.get("ignore_merges", False)), trainers.BpeTrainer(
            vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
    if kind == "fallback":
        bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
        model = models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
        return model, trainers.BpeTrainer(
            vocab_size=1100, limit_alphabet=120, special_tokens=["<unk>", *bytes_], show_progress=False
        )
    if kind == "unigram":
        bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if settings.get("byte_fallback") else []
        return models.Unigram(), trainers.UnigramTrainer(
            vocab_size=700, unk_token="<unk>", special_tokens=["<unk>", *bytes_], show_progress=False
        )
    if kind == "wordpiece":
        return models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20), trainers.WordPieceTrainer(
            vocab_size=600, special_tokens=["[UNK]"], show_progress=False
        )
    if kind == "words":
        return models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(
            vocab_size=500, special_tokens=["[UNK]"], show_progress=False
        )
    if kind == "suffix":
        return models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), trainers.BpeTrainer(
            vocab_size=700, limit_alphabet=100, end_of_word_suffix="</w>", special_tokens=["<unk>"], show_progress=False
        )
    if kind == "prefix":
        return models.BPE(unk_token="<unk>", continuing_subword_prefix="##"), trainers.BpeTrainer(
            vocab_size=700, limit_alphabet=100, continuing_subword_prefix="##", special_tokens=["<unk>"], show_progress=False
        )
    return models.BPE(unk_token="<unk>", fuse_unk=settings.get("fuse_unk", False)), trainers.BpeTrainer(
        vocab_size=600, limit_alphabet=90, special_tokens=["<unk>"], show_progress=False
    )


def added(content, **flags):
    return AddedToken(content, **{"normalized": False, "special": False, **flags})


# Added tokens with every flag; their texts stand in tokenizer_texts.WORDS.
ADDED = [added("<s>", special=True), added("</s>", special=True), added("<|im_start|>", special=True),
         added("<|im_end|>", special=True), added("<tool_call>"), added("<|im_"), added("<k>", lstrip=True, rstrip=True),
         added("word", single_word=True), added("The", normalized=True), added("e\u0301<n>", normalized=True),
         added("\n\n", normalized=False), added("<mask>", special=True, lstrip=True),
         added("don", normalized=True, single_word=True), added("Upper Case", normalized=True, rstrip=True)]  # fmt: skip


def train(path, name, corpus):
    """Writes a tokenizer.json of the class `name`, with a vocabulary of its own."""
    settings, build = CLASSES[name]
    model, trainer = model_of(settings)
    tokenizer = Tokenizer(model)
    build(tokenizer)
    # The unigram trainer wants a token for every character.
    texts = [text for text in corpus if text.isascii()] if settings["kind"] == "unigram" else corpus
    tokenizer.train_from_iterator(texts, trainer)
    if settings.get("byte_fallback") and settings["kind"] == "unigram":
        document = json.loads(tokenizer.to_str())
        document["model"]["byte_fallback"] = True
        tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_tokens(ADDED)
    begin, end = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
    template = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B", special_tokens=[("<s>", begin), ("</s>", end)]
    )
    if name in ("bert", "cased bert"):
        tokenizer.post_processor = processors.BertProcessing(("</s>", end), ("<s>", begin))
    elif name == "gpt2 with a space":
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", end), ("<s>", begin))
    elif name != "smollm":
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    tokenizer.save(str(path))


