# Where the assistant's turns lie in a rendered text.
import re

MARK = "sluice7mark3of1an9answer"
# Special tokens as chat models spell them, for tokenizers that do not name theirs.
USUAL_TOKENS = r"<\|[^|<>\s]{1,40}\|>|<\uff5c[^\uff5c<>\s]{1,40}\uff5c>|</s>|<eos>|<end_of_turn>|<turn\|>"
AMBIGUOUS = "the assistant's words cannot be told apart in the text that the chat template makes"


def common(one, other):
    """Length of what two texts begin with alike."""
    return len(os.path.commonprefix((one, other)))


class Answers:
    """Finds the assistant's turns: by how the text grows turn by turn, else by a mark in place of the answer."""

    def __init__(self, template, special, reading):
        self.template = template
        self.reading = reading  # Version of how data become tokens.
        spelt = sorted(filter(None, special), key=len, reverse=True)
        self.special = re.compile("|".join([re.escape(each) for each in spelt] + [USUAL_TOKENS]))
        self.prompts = False  # Whether the template writes a header when asked for one.
        self.header = ""  # What stands before an answer and is not learnt.
        self.ends = ("", "")  # What ends the assistant's turn: in the middle, and at the end.
        self.bare = False  # Whether a turn in the middle has no end: what follows opens the next one.
        self._look()

    def _look(self):
        """Learns headers and ends from a conversation of two questions."""
        user, answer = {"role": "user", "content": "one"}, {"role": "assistant", "content": MARK}
        alone = self.template.text_or_none([user], {})
        asked = self.template.text_or_none([user], {}, prompt=True)
        last, self.refusal = None, ""  # Why a question with its answer is refused.
        try:
            last = self.template.text([user, answer], {})
        except Refused as error:
            self.refusal = str(error)
        middle = self.template.text_or_none([user, answer, user, {**answer, "content": "two"}], {})
        self.prompts = asked is not None and asked != alone
        before, _, behind = (last or "").partition(MARK)
        if self.prompts and alone is not None:
            self.header = asked[self._boundary(asked, common(asked, alone)) :]
        elif alone is not None and last is not None and before.startswith(alone):
            header = before[len(alone) :].partition("<think>")[0]
            self.header = header if header.strip() else ""
        if last is not None:
            inside = (middle or "").partition(MARK)[2]
            self.bare = self.reading > 1 and self._opens(inside, behind, alone or "")
            end = "" if self.bare else self._end(inside, common(inside, behind))
            self.ends = (end, self._end(behind, len(behind)))

    def _boundary(self, text, at):
        """The start of the special token within which `at` lies, else `at`."""
        for found in self.special.finditer(text):
            if found.start() < at < found.end():
                return found.start()
        return at

    def _end(self, behind, usual):
        """What ends a turn, in the text behind its content: all up to the first special token."""
        found = self.special.search(behind)
        if found and not behind[: found.start()].strip():
            return behind[: found.end()]
        return behind[:usual]

    def _opens(self, inside, behind, alone):
        """Whether the one special token behind an answer in the middle is the header of the question that follows, while an
        answer at the end has a token of its own."""
        between, asked, _ = inside.partition("one")
        found = list(self.special.finditer(between))
        end = self.special.match(behind.lstrip())
        if not asked or len(found) != 1 or not end or end.group() == found[0].group():
            return False
        return not between[: found[0].start()].strip() and alone.partition("one")[0].endswith(between[found[0].start() :])

    def turn_end(self):
        """The special token that ends the assistant's turns."""
        for end in reversed(self.ends):
            found = self.special.search(end)
            if found:
                return found.group()
        return None

    def prompt(self, messages, variables):
        """The text up to where an answer begins; None where the template refuses so short a conversation."""
        if not messages:
            return None
        text = self.template.text_or_none(messages, variables, prompt=self.prompts)
        return text if self.prompts or text is None else text + self.header

    def span(self, messages, variables, text, index):
        """[start, end) of the answer that is message `index`, or None where it is ambiguous."""
        last = index + 1 == len(messages)
        prompt = self.prompt(messages[:index], variables)
        start = len(prompt) if prompt is not None and text.startswith(prompt) else None
        if start is not None:
            grown = text if last else self.template.text_or_none(messages[: index + 1], variables)
            if grown is not None and len(grown) > start and text.startswith(grown):
                return start, self._end_of_turn(text, start, len(grown), self.ends[last])
        return self._by_mark(messages, variables, text, index, start)

    def _end_of_turn(self, text, start, stop, end):
        """Where the turn in text[start:stop] ends: behind its end, without the white space that follows."""
        if end:
            at = text.rfind(end, start, stop)
            if at >= 0 and not self.special.sub("", text[at + len(end) : stop]).strip():
                return at + len(end)
            if text.startswith(end, stop):
                return stop + len(end)
        bare = text[start:stop].rstrip()
        endings = [found.end() for found in self.special.finditer(bare)]
        return start + len(bare) if endings and endings[-1] == len(bare) else stop

    def _marked(self, message):
        """Copies of an answer with the mark in place of one of its texts, and whether that is its content."""
        if isinstance(message.get("content"), str) or not message.get("tool_calls"):
            yield {**message, "content": MARK}, True
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls and isinstance(calls[-1], dict):
            call = calls[-1]
            if isinstance(call.get("function"), dict):
                yield {**message, "tool_calls": [*calls[:-1], {**call, "function": {**call["function"], "name": MARK}}]}, False
            else:
                yield {**message, "tool_calls": [*calls[:-1], {**call, "name": MARK}]}, False

    def _around(self, messages, variables, index):
        """What stands before and behind the mark in message `index`, and whether the mark is its content."""
        for message, content in self._marked(messages[index]):
            text = self.template.text_or_none([*messages[:index], message, *messages[index + 1 :]], variables)
            if text is not None and text.count(MARK) == 1:
                before, _, behind = text.partition(MARK)
                yield before, behind, content

    def _by_mark(self, messages, variables, text, index, start):
        last = index + 1 == len(messages)
        end = self.ends[last]
        for before, behind, content in self._around(messages, variables, index):
            begin = start if start is not None else self._begin(text, before, content)
            at = len(text) - len(behind)
            if begin is None or at < begin or not text.endswith(behind):
                continue
            if start is None and at < len(before):
                continue
            if behind.startswith(end):
                return begin, at + len(end)
            if last:
                return begin, self._end_of_turn(text, begin, len(text), end)
            for following, _, _ in self._around(messages, variables, index + 1):
                found = text.rfind(end, at, len(following)) if text.startswith(following) and end else -1
                if found >= 0:
                    return begin, found + len(end)
        return None

    def _begin(self, text, before, content):
        """Where the answer begins whose mark stands behind `before`: behind its header."""
        whole = text.startswith(before)
        if not self.header:
            return len(before.rstrip()) if whole and content else None
        # A header may end with the begin of a thought, which an answer without one lacks.
        cuts = {len(self.header)} | {found.end() for found in self.special.finditer(self.header)}
        cuts |= {at + 1 for at, letter in enumerate(self.header) if letter == "\n"}
        alike = before[: common(text, before)]
        for cut in sorted(cuts, reverse=True):
            if self.header[cut:].lstrip()[:1] not in ("", "<"):
                break
            at = alike.rfind(self.header[:cut])
            if at >= 0 and not (self.ends[0] and self.ends[0] in before[at + cut :]):
                return at + cut
        return len(before) if whole and content else None
