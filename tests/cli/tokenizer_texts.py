"""Texts that tokenizers cut differently where they err: odd words, and characters from all over Unicode."""

import random

BOUNDS = [(0x21, 0x7E), (0xA1, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x6FF), (0x900, 0xDFF),
          (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x20D0, 0x20FF), (0x3040, 0x30FF),
          (0x4E00, 0x4FFF), (0xAC00, 0xAFFF), (0xF900, 0xFAFF), (0xFB00, 0xFB4F), (0xFE00, 0xFFEF),
          (0x1D100, 0x1D1FF), (0x1F300, 0x1F9FF), (0x1F1E6, 0x1F1FF), (0x2F800, 0x2FA1D),
          (0x1E8D0, 0x1E8D6), (0x11080, 0x110C0), (0xE0001, 0xE007F)]  # fmt: skip
WORDS = ["don't", "I'LL", "we'Ve", "'\u017f", "'\u017ft", "\u2019s", "'", " ", "  ", "\t", "\n", "\r\n", "\n\n ",
         "\u00a0", "\u2003", "\u3000", "\u180e", "\u200b", "\u0085", "\u2028", "\x0b", "\x0c", "\x1c", "\x00", "\ufeff",
         "123456", "\u0661\u0662", "\u00b2", "\u2167", "x", "The", "e\u0301", "\u1e69", "s\u0323\u0307", "\u1112\u1161\u11ab",
         "\ud55c", "\u0958", "\u2126", "\ufb01", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U00011930\U00011935",
         "\U00011935\U00011930", "\u0627\u0653", "\u0f71\u0f72", "\u0344", "\u1ac0", "\u08ca\u0316", "<|im_start|>", "<|im_end|>",
         "<|endoftext|>", "<|im_start", "<tool_call>", "<|begin_of_text|>", "</s>", "caf\u00e9", "cafe\u0301<n>", "<k>", " <k> "]  # fmt: skip


def hard_texts(seed, count):
    """Strings of words and of characters from all over Unicode."""
    chance = random.Random(seed)

    def character():
        low, high = chance.choice(BOUNDS)
        return chr(chance.randint(low, high))

    texts = []
    for _ in range(count):
        parts = [
            chance.choice(WORDS) if chance.random() < 0.5
            else "".join(character() for _ in range(chance.randint(1, 4)))
            for _ in range(chance.randint(0, 12))
        ]  # fmt: skip
        texts.append(chance.choice(["", " "]).join(parts))
    return texts


def every_character():
    """Each code point of the first two planes, and of the others some, beside letters and digits, behind
    an apostrophe and between combining marks."""
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0xE0000, 97), *range(0xE0000, 0xE0200)]
    texts = [f"a{c} '{c}q{c}\u0316\u0301 {c}1{c}\u0315" for c in map(chr, points)]
    return ["".join(texts[first : first + 64]) for first in range(0, len(texts), 64)]
