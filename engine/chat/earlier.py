# How 0.1.0 described the templates that it knew, so that runs it began go on: found by what a template writes.
import collections

NOTHING = "\x01"
CONST_ENDS = (" [/INST] ", " [/INST]", "[/INST]")
Earlier = collections.namedtuple(
    "Earlier", "family default_system preamble open close before_answer trims system_place bos eos",
    defaults=(NOTHING, NOTHING, "[INST] ", "[/INST]", " ", "0", "1", "", ""),
)  # fmt: skip


def talk(*texts, system=None):
    said = [] if system is None else [{"role": "system", "content": system}]
    return said + [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]


def as_chatml(text, with_system, template):
    def turn(role, content):
        return f"<|im_start|>{role}\n{content}<|im_end|>\n"

    def turns(first, last):
        return turn("user", "q1") + turn("assistant", first) + turn("user", "q2") + turn("assistant", last)

    for family, first, last in (("0", "<think>t</think>a1", "a2"), ("1", "a1", "<think>\n\n</think>\n\na2")):
        body = turns(first, last)
        if not text.endswith(body) or with_system != turn("system", "s") + body:
            continue
        default = text[: -len(body)]
        if not default:
            return Earlier(family)
        found = re.fullmatch(r"<\|im_start\|>system\n(.+)<\|im_end\|>\n", default, re.DOTALL)
        return Earlier(family, default_system=found[1]) if found and family == "0" else None
    return None


def as_llama3(text, with_system, template):
    bos = template.given.get("bos_token", "")

    def turn(role, content):
        return f"<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>"

    body = turn("user", "q1") + turn("assistant", "<think>t</think>a1") + turn("user", "q2") + turn("assistant", "a2")
    if text == bos + body and with_system == bos + turn("system", "s") + body:
        return Earlier("2", bos=bos)
    found = re.fullmatch(r"<\|start_header_id\|>system<\|end_header_id\|>\n\n(.*)<\|eot_id\|>", text[len(bos) : -len(body)], re.DOTALL)
    if not found or not text.endswith(body) or with_system != bos + turn("system", found[1] + "s") + body:
        return None
    return Earlier("2", preamble=found[1], bos=bos)


def as_mistral(text, with_system, template):
    bos, eos = template.given.get("bos_token", ""), template.given.get("eos_token", "")
    answer = "<think>t</think>a1"
    if not eos or not text.startswith(bos):
        return None
    opened, _, rest = text[len(bos) :].partition("q1")
    between = rest.partition(answer)[0]
    close = next((each for each in CONST_ENDS if each in template.words and between.startswith(each)), None)
    close = close or next((each for each in ("[/INST]", " [/INST]") if between.startswith(each)), None)
    if close is None or between[len(close) :] not in ("", " ") or "[INST]" not in opened:
        return None
    before = between[len(close) :]

    def turn(question, said):
        return opened + question + close + before + said + eos

    if text != bos + turn("q1", answer) + turn("q2", "a2"):
        return None
    trims = template.text_or_none(talk("q1", " a "), {}) == bos + turn("q1", "a")
    places = {None: "0", bos + turn("s\n\nq1", answer) + turn("q2", "a2"): "1", text: "2"}
    if with_system not in places:
        return None
    return Earlier("3", NOTHING, NOTHING, opened, close, before, "01"[trims], places[with_system], bos, eos)


def earlier_description(template):
    """The text that 0.1.0 hashed in the template's place; None if it knew no template that writes the like."""
    texts = ("q1", "<think>t</think>a1", "q2", "a2")
    text = template.text_or_none(talk(*texts), {})
    with_system = template.text_or_none(talk(*texts, system="s"), {})
    if text is None:
        return None
    for known in (as_chatml, as_llama3, as_mistral):
        found = known(text, with_system, template)
        if found:
            return "\x1f".join(found)
    return None
