# Answers requests of engine/chat: loads templates, and renders conversations by them.
import codecs
import signal


class TookTooLong(BaseException):
    """Passes through `except Exception`, which jinja2 has."""


def too_long(number, frame):
    raise TookTooLong


def pieces_of(text, spans):
    """[text, learnt] of each part of a text."""
    out, at = [], 0
    for start, end in spans:
        if at < start:
            out.append([text[at:start], 0])
        out.append([text[start:end], 1])
        at = end
    if at < len(text):
        out.append([text[at:], 0])
    return out


def joined(spans):
    """The spans in order; those that overlap become one."""
    out = []
    for start, end in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif start < end:
            out.append((start, end))
    return out


def located(answers, messages, variables, text, turns):
    spans = []
    known = spans_of_many(answers, messages, variables, text, turns)
    for index in turns:
        span = known.get(index) or answers.span(messages, variables, text, index)
        if span is None:
            raise Refused(f"messages[{index}]: {AMBIGUOUS}")
        spans.append(span)
    return joined(spans)


def rendered(template, answers, messages, variables, learnt):
    """Pieces of a conversation. Raises Refused with the reason why it is left out."""
    messages = as_read(template, messages, variables)
    said = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    wanted = [index for index in said if learnt[index] == "1"]
    if template.marks:
        text, marks = template.marked_text(messages, variables)
        if marks is not None and (marks or not wanted):
            if len(wanted) == len(said):
                return pieces_of(text, joined(marks))
            if len(marks) == len(said):
                return pieces_of(text, joined(marks[at] for at, index in enumerate(said) if index in wanted))
            turns = located(answers, messages, variables, text, wanted)
            inside = [mark for mark in marks if any(a < mark[1] and mark[0] < b for a, b in turns)]
            return pieces_of(text, joined(inside))
    else:
        text = template.text(messages, variables)
    return pieces_of(text, located(answers, messages, variables, text, wanted))


def doubt_of(messages, text, end):
    """What is doubtful of a text: a content has the token that ends turns, or arguments of a call that are the text of an
    object stand in it as a quoted text."""
    for message in messages:
        content = message.get("content")
        if end and isinstance(content, str) and end in content:
            return (
                f"messages[].content: holds {end}, by which the chat template ends turns: where the rows were rendered by a "
                "template already, take its marks out, or learn them as texts"
            )
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            asked = call.get("function", call) if isinstance(call, dict) else None
            given = asked.get("arguments") if isinstance(asked, dict) else None
            if isinstance(given, str) and given.lstrip().startswith("{") and json.dumps(given, ensure_ascii=False) in text:
                return (
                    "tool_calls: arguments are JSON text, and the chat template writes them quoted, as a text within JSON: "
                    "write them as an object to train on what models of this template answer"
                )
    return ""


def writes(template, token):
    """Whether the text is another if a token that is not given were."""
    if token in template.given:
        return False
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    return template.text_or_none(messages, {}) != template.text_or_none(messages, {token: MARK})


def variables_of(given):
    """A row's variables; tools that are the text of a list become the list."""
    tools = given.get("tools")
    if isinstance(tools, str):
        try:
            given["tools"] = json.loads(tools)
        except ValueError:
            raise Refused("tools: is no JSON: give a list of tools") from None
    return given


class Renderer:
    """Templates, and how many seconds of processor time a request may take."""

    def __init__(self, seconds):
        self.loaded = {}
        self.seconds = seconds

    def load(self, key, sources, tokens, date, special, reading):
        try:
            template = Template(sources, tokens, date)
        except MemoryError:
            raise
        except Exception as error:  # What jinja2 compiles may be no Python either: a break outside of a loop.
            line = f" (line {error.lineno})" if isinstance(error, jinja2.exceptions.TemplateSyntaxError) else ""
            return {"error": f"is no Jinja template: {line_of(error)}{line}"}
        answers = Answers(template, [*special, *(each for each in tokens.values() if isinstance(each, str))], reading)
        self.loaded[key] = (template, answers)
        known = {"date_string", "strftime_now", *tokens, "bos_token", "eos_token"}
        missing = [name for name in ("bos_token", "eos_token") if name in template.names and writes(template, name)]
        return {
            "reads": sorted(template.names & known),
            "missing": missing,
            "turn_end": answers.turn_end(),
            "bare": answers.bare,
            "refusal": answers.refusal,
            "earlier": earlier_description(template),
        }

    def render(self, key, messages, variables, learnt):
        template, answers = self.loaded[key]
        variables = variables_of(variables)
        pieces = rendered(template, answers, messages, variables, learnt)
        doubt = doubt_of(messages, "".join(text for text, _ in pieces), answers.turn_end())
        return {"p": pieces, "w": doubt} if doubt else {"p": pieces}

    def prompt(self, key, messages, variables):
        template, answers = self.loaded[key]
        variables = variables_of(variables)
        messages = as_read(template, messages, variables)
        text = template.text(messages, variables, prompt=True)
        return {"p": [[text if answers.prompts else text + answers.header, 0]]}

    def answer(self, request):
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        try:
            return getattr(self, request.pop("do"))(**request)
        except Refused as error:
            return {"x": str(error)}
        except MemoryError:
            return {"stop": "takes more memory than a template may"}
        except TookTooLong:
            return {"stop": f"takes more than {self.seconds} s of processor time for one conversation"}
        except Exception as error:  # A template may change the messages that it is given.
            return {"x": f"fails: {type(error).__name__}: {line_of(error)}"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def warm_up():
    """Makes Python read what it reads late, while it still can."""
    for name in ("unicode_escape", "ascii", "latin-1", "utf-16", "utf-32"):
        codecs.lookup(name)
    for source in (r"{{ '\n\u00e9' | tojson }}{{ strftime_now('%A') }}{{ none.a.b }}", "{% for %}"):
        try:
            Template({"default": source}, {}, None).text([], {})
        except (Refused, jinja2.exceptions.TemplateError):
            continue


def serve(seconds):
    signal.signal(signal.SIGPROF, too_long)
    warm_up()
    limit(resource.RLIMIT_FSIZE, 1 << 16)
    limit(resource.RLIMIT_NPROC, 0)
    limit(resource.RLIMIT_NOFILE, 3)  # No file, socket or pipe can be opened any more.
    renderer = Renderer(seconds)
    for request in requests():
        reply(renderer.answer(request))


if __name__ == "__main__":
    serve(3)
