# A chat template: its sources compiled, and what every rendering gives it.
import itertools

REASONING = ("reasoning_content", "thinking", "reasoning")


class Refused(Exception):
    """The reason why a conversation cannot be rendered, in one line."""


def line_of(error):
    """An exception as one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def reason_of(error):
    """Why a template renders nothing."""
    if isinstance(error, RecursionError):
        return "the chat template calls itself without an end"
    return f"the chat template refuses it: {line_of(error)}"


class Template:
    def __init__(self, sources, tokens, date):
        self.environment = environment(date)
        self.compiled = {name: self.environment.from_string(source) for name, source in sources.items()}
        self.names = set()  # Every variable that a source reads.
        self.words = set()  # Every name, attribute and text that a source spells.
        for source in sources.values():
            self._spell(self.environment.parse(source))
        self.tag = self.environment.extensions[GenerationTag.identifier]
        self.marks = self.tag.used
        self.given = {"tools": None, "documents": None, **tokens}
        if date is not None:
            self.given["date_string"] = date

    def _spell(self, tree):
        for node in tree.find_all((jinja2.nodes.Name, jinja2.nodes.Getattr, jinja2.nodes.Const)):
            if isinstance(node, jinja2.nodes.Name):
                self.names.add(node.name)
            elif isinstance(node, jinja2.nodes.Getattr):
                self.words.add(node.attr)
            elif isinstance(node.value, str):
                self.words.add(node.value)
        self.words |= self.names

    def _source(self, variables):
        if variables.get("tools") is not None and "tool_use" in self.compiled:
            return self.compiled["tool_use"]
        return self.compiled["default"]

    def _context(self, messages, variables, prompt):
        return {**self.given, **variables, "messages": messages, "add_generation_prompt": prompt}

    def text(self, messages, variables, prompt=False):
        """The rendered text. Raises Refused with the template's or jinja2's reason."""
        try:
            return self._source(variables).render(self._context(messages, variables, prompt))
        except MemoryError:
            raise
        except Exception as error:
            raise Refused(reason_of(error)) from None

    def marked_text(self, messages, variables):
        """The rendered text, and [start, end) of what stands between {% generation %} and {% endgeneration %}; None
        in place of these if a mark is not where its text lies, as in a macro."""
        blocks, marks = [], []
        self.tag.marked = (blocks, marks)
        try:
            for block in self._source(variables).generate(self._context(messages, variables, False)):
                blocks.append(block)
        except MemoryError:
            raise
        except Exception as error:
            raise Refused(reason_of(error)) from None
        finally:
            self.tag.marked = None
        text = "".join(blocks)
        if any(not text.startswith(marked, start) for start, marked in marks):
            return text, None
        return text, [(start, start + len(marked)) for start, marked in marks if marked]

    def text_or_none(self, messages, variables, prompt=False):
        try:
            return self.text(messages, variables, prompt)
        except Refused:
            return None


def without(messages, names):
    """The messages without some fields."""
    return [{key: value for key, value in each.items() if key not in names} for each in messages]


def has(messages, names):
    """Place of the first message that says something in one of the fields."""
    for index, message in enumerate(messages):
        for name in names:
            if message.get(name) not in (None, "", [], {}):
                return index, name
    return None


def aliased(messages):
    """The messages with their thoughts under each name that templates read."""
    out = []
    for message in messages:
        thought = next((message[name] for name in REASONING if message.get(name) is not None), None)
        out.append(message if thought is None else {"thinking": thought, **message, "reasoning_content": thought})
    return out


def as_read(template, messages, variables):
    """The conversation in the form that the template reads: fields that are null are left out where it can do without
    them, and thoughts have the name that it knows. Raises Refused naming a field that changes nothing in the text."""
    if any(value is None for message in messages for value in message.values()):
        sparse = [{key: value for key, value in each.items() if value is not None} for each in messages]
        if template.text_or_none(sparse, variables) is not None:
            messages = sparse
    thoughts = has(messages, REASONING)
    calls = has(messages, ("tool_calls",))
    names = has([{} if each.get("role") == "tool" else each for each in messages], ("name",))
    extra = [name for name in ("tools", "documents") if variables.get(name)]
    if not (thoughts or calls or names or extra):
        return messages
    if thoughts and not changes(template, messages, variables, REASONING):
        messages = aliased(messages)
        if not template.words & set(REASONING) and not changes(template, messages, variables, REASONING):
            raise Refused(unused(f"messages[{thoughts[0]}].{thoughts[1]}"))
    if calls and not changes(template, messages, variables, ("tool_calls",)):
        raise Refused(unused(f"messages[{calls[0]}].tool_calls"))
    if names and not changes(template, messages, variables, ("name",)):
        raise Refused(unused(f"messages[{names[0]}].name"))
    for name in extra:
        fewer = {key: value for key, value in variables.items() if key != name}
        if template.text_or_none(messages, fewer) == template.text(messages, variables):
            raise Refused(unused(name))
    return messages


def changes(template, messages, variables, names):
    """Whether the text is another without these fields; Refused if it has none with them."""
    return template.text_or_none(without(messages, names), variables) != template.text(messages, variables)


def unused(field):
    return f"{field}: the chat template does not use it: take the field out, or choose a template that does"
