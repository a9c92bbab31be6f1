# The sandbox in which a chat template runs: jinja2 with the options, filters and globals of transformers.
import datetime

import jinja2
import jinja2.debug
import jinja2.ext
import jinja2.nodes
import jinja2.runtime
import jinja2.sandbox

DATE_FORMATS = ("%d %b %Y", "%d %B %Y", "%Y-%m-%d", "%B %d, %Y", "%b %d, %Y")
USUAL_DATE = "26 Jul 2024"  # What Llama's templates fall back to; the clock is never asked.


class GenerationTag(jinja2.ext.Extension):
    """{% generation %} ... {% endgeneration %}: what the assistant wrote."""

    tags = {"generation"}
    used = False  # Whether a source has the tag.
    marked = None  # While a text is written: its blocks so far, and (start, text) of each mark.

    def parse(self, parser):
        line = next(parser.stream).lineno
        self.used = True
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_mark"), [], [], body).set_lineno(line)

    def _mark(self, caller):
        text = caller()
        if self.marked is not None:
            blocks, marks = self.marked
            marks.append((sum(map(len, blocks)), text))
        return text


class Dict:
    """`dict` of templates, without the attributes of a class."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


class Namespace(jinja2.utils.Namespace):
    """`namespace` of templates; names that begin with an underscore are refused."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        values = dict(*args, **kwargs)
        for name in values:
            Namespace._check(name)
        jinja2.utils.Namespace.__init__(self, values)

    def __setitem__(self, name, value):
        Namespace._check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace's name begins with an underscore: {name}")


OF_DICTS = frozenset(dir(dict))
OF_TEXTS = frozenset(name for name in dir(str) if not name.startswith(("_", "format")))

OF_TEMPLATES = frozenset((jinja2.runtime.LoopContext, Namespace))


class Environment(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """Closes what jinja2 before 3.1.6 left open, a method `format` that is called by a filter, and takes short ways to
    what is safe: the fields of a message and the methods of texts."""

    def getattr(self, value, name):
        kind = type(value)
        if kind is dict and name in value and name not in OF_DICTS:
            return value[name]
        if kind is str and name in OF_TEXTS:
            return getattr(value, name)
        if kind in OF_TEMPLATES and not name.startswith("_"):
            try:
                return getattr(value, name)
            except AttributeError:
                pass
        return self._guarded(super().getattr(value, name))

    def getitem(self, value, name):
        if type(value) is dict and type(name) is str and name in value:
            return value[name]
        return self._guarded(super().getitem(value, name))

    def _guarded(self, found):
        if not callable(found) or getattr(found, "__name__", "") not in ("format", "format_map"):
            return found
        if not isinstance(getattr(found, "__self__", None), str):
            return found
        text, maps = found.__self__, found.__name__ == "format_map"
        formatter = jinja2.sandbox.SandboxedFormatter(self)

        def safe_format(*args, **kwargs):
            return formatter.vformat(text, (), args[0]) if maps else formatter.vformat(text, args, kwargs)

        return safe_format


def safe_attr(environment, value, name):
    """The filter `attr`, by way of the sandbox."""
    return environment.getattr(value, str(name))


safe_attr = jinja2.pass_environment(safe_attr)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def day(text):
    for form in DATE_FORMATS:
        try:
            return datetime.datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def environment(date):
    """jinja2 as transformers sets it up, with a date that stands still."""
    made = Environment(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
    made.filters["tojson"] = to_json
    made.filters["attr"] = safe_attr
    made.globals["raise_exception"] = refuse
    made.globals["dict"] = Dict()
    made.globals["namespace"] = Namespace
    now = day(date or USUAL_DATE)

    def strftime_now(form):
        if now is None:
            refuse(f'date_string: "{date}" must be a date such as 26 Jul 2024 for a template that calls strftime_now')
        return now.strftime(form)

    made.globals["strftime_now"] = strftime_now
    return made
