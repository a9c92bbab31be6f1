# The answers of a long conversation, found by one rendering with a mark in place of every content: rendering it anew for
# each answer takes time that grows with the square of its length.

FEWEST_ANSWERS = 12  # Conversations with fewer are rendered for each answer.


def mark_of(index):
    return f"{MARK}{index:06d}x"


def cut_of(content):
    """Where the part of a content begins that a mark stands for: behind its thought, which templates look for."""
    at = content.rfind("</think>")
    return 0 if at < 0 else len(content) - len(content[at + len("</think>") :].lstrip())


class ManyMarks:
    """Where each message's content lies in the text of a conversation, and the template's own text between."""

    def __init__(self, answers, messages, variables, text):
        self.answers = answers
        self.text = text
        self.last = len(messages) - 1
        self.thoughts = set()  # Messages whose mark stands behind a thought.
        self.places = {}  # Of each message: where the text before its content, the content and the text behind begin, and end.
        contents = {}
        marked = list(messages)
        for index, message in enumerate(messages):
            content = message.get("content")
            if isinstance(content, str) and content.strip() and MARK not in content:
                cut = cut_of(content)
                contents[index] = content[cut:]
                self.thoughts |= {index} if cut else set()
                marked[index] = {**message, "content": content[:cut] + mark_of(index)}
        other = answers.template.text_or_none(marked, variables)
        if other is not None:
            self._align(other, contents)

    def _align(self, other, contents):
        """Finds the contents in the text by what stands between the marks of the other text; no places where the two differ
        in more than contents."""
        found = [(match.start(), match.end(), int(match[1])) for match in re.finditer(MARK + "([0-9]{6})x", other)]
        if len({index for _, _, index in found}) < len(found):
            return
        ends = [*(start for start, _, _ in found[1:]), len(other)]
        before, at, places = 0, found[0][0] if found else 0, {}
        if not found or not self.text.startswith(other[:at]):
            return
        for (_, behind, index), end in zip(found, ends):
            following = other[behind:end]
            content = contents[index]
            spelt = {content: 0, content.strip(): 0, content.rstrip(): 0, content.lstrip(): 0}
            fitting = [
                each for each in spelt if self.text.startswith(each, at) and self.text.startswith(following, at + len(each))
            ]
            if not fitting or not following:
                return
            stop = at + len(max(fitting, key=len))
            places[index] = (before, at, stop, stop + len(following))
            before, at = stop, stop + len(following)
        if at == len(self.text):
            self.places = places

    def span(self, index):
        """[start, end) of the answer that is message `index`; None where it is not certain."""
        end = self.answers.ends[index == self.last]
        if index not in self.places or not end:
            return None
        before, content, behind, following = self.places[index]
        if index != self.last:
            # The next message's content ends the template's text, whatever calls stand in it.
            if index + 1 not in self.places or self.places[index + 1][0] != behind:
                return None
        window = self.text[before:content]
        begin = self.answers._begin(window, window, True)
        header = self.answers.header
        first = self.answers.special.match(header)
        opening = first.group() if first else header
        if not begin or not header and index in self.thoughts:
            return None
        if header and (window.count(opening) != 1 or window.find(opening) >= begin):
            return None
        at = self.text.rfind(end, behind, following)
        if at < 0 or self.answers.special.sub("", self.text[at + len(end) : following]).strip() and index == self.last:
            return None
        return before + begin, at + len(end)


def kind_of(messages, index):
    """What templates look at when they write an answer: which fields it and the two messages before it have."""
    kinds = []
    for message in messages[max(0, index - 2) : index + 1]:
        said = [bool(message.get(name)) for name in ("content", "tool_calls", *REASONING)]
        thought = isinstance(message.get("content"), str) and "</think>" in message["content"]
        kinds.append((message.get("role"), thought, *said))
    return (*kinds, index + 1 == len(messages))


def spans_of_many(answers, messages, variables, text, turns):
    """[start, end) of each of the messages `turns`, by its index, where one rendering with marks tells them. The first and the
    last of each kind are found one by one as well, and must be the same."""
    if len(turns) < FEWEST_ANSWERS:
        return {}
    marks = ManyMarks(answers, messages, variables, text)
    kinds = {}
    for index in turns:
        span = marks.span(index)
        if span is not None:
            kinds.setdefault(kind_of(messages, index), {})[index] = span
    known = {}
    for spans in kinds.values():
        if all(spans[index] == answers.span(messages, variables, text, index) for index in {min(spans), max(spans)}):
            known |= spans
    return known
