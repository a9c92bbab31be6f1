"""What transformers makes of conversations, by its own apply_chat_template machinery (transformers 4.51).

Reads lines of JSON: {"source", "messages", "variables", "tokens"}. Writes for each {"text", "marks"}: the rendered text and
[start, end) of what {% generation %} encloses, in characters; or {"error"}. The date is 26 Jul 2024.
"""

import datetime
import json
import sys

from transformers.utils import chat_template_utils


def compiled(source):
    template = chat_template_utils._compile_jinja_template(source)
    template.environment.globals["strftime_now"] = datetime.datetime(2024, 7, 26).strftime
    return template


def rendered(line):
    variables = {"tools": None, "documents": None, **line["tokens"], **line["variables"]}
    text, marks = chat_template_utils._render_with_assistant_indices(
        compiled(line["source"]), line["messages"], variables.pop("tools"), variables.pop("documents"), False, **variables
    )
    return {"text": text, "marks": marks}


for each in sys.stdin:
    try:
        answer = rendered(json.loads(each))
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
