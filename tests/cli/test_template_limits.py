"""What a template cannot do: loop without an end, eat memory, reach files, processes or Python's insides; and what is said where
the process that runs it fails."""

import json
import pathlib
import stat
import time

import pytest
from chat_templates import CHATML
from template_driving import drive, folder_with, needs_driver, refusal, run_driver, start_driver, turns

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
pytestmark = needs_driver

WHEN_LONG = "{% if messages | length > 2 %}BOMB{% endif %}" + CHATML
LOOPS = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
GROWS = "{% set n = namespace(t='x' * 1000) %}{% for a in range(99) %}{% set n.t = n.t + n.t %}{% endfor %}"


@pytest.mark.parametrize(
    "bomb, said",
    [(LOOPS, "takes more than 3 s of processor time"), (GROWS, "takes more memory than a template may"),
     ("{{ 'x' * 10 ** 12 }}", "takes more memory than a template may")],
)  # fmt: skip
def test_a_template_that_takes_too_much_is_refused_in_one_line(tmp_path, bomb, said):
    folder = folder_with(tmp_path, WHEN_LONG.replace("BOMB", bomb))
    begun = time.monotonic()
    run = run_driver(folder, [turns("a", "b"), turns("a", "b", "c", "d")])
    assert run.returncode == 2 and said in run.stderr and "tokenizer_config.json" in run.stderr
    assert len([line for line in run.stderr.splitlines() if "takes" in line]) == 1
    assert time.monotonic() - begun < 60


def processes_below(parent):
    """Ids of the processes that `parent` started and that still run."""
    found = []
    for stat_file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, above = stat_file.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # It has ended.
        if int(above) == parent and state != "Z":
            found.append(int(stat_file.parent.name))
    return found


def runs(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_process_that_runs_templates_ends_with_a_program_that_is_killed(tmp_path):
    folder = folder_with(tmp_path, WHEN_LONG.replace("BOMB", LOOPS))
    program = start_driver(folder, [turns("a", "b"), turns("a", "b", "c", "d")])
    try:
        end = time.monotonic() + 30
        while not (children := processes_below(program.pid)) and time.monotonic() < end:
            time.sleep(0.01)
        assert children
        time.sleep(0.5)  # The template loops, which it may for three seconds.
    finally:
        program.kill()
        program.wait()
    end = time.monotonic() + 2
    while any(map(runs, children)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(runs, children))


def test_a_template_that_calls_itself_without_an_end_leaves_the_row_out(tmp_path):
    source = "{% macro again() %}{{ again() }}{% endmacro %}" + WHEN_LONG.replace("BOMB", "{{ again() }}")
    good, bad = drive(folder_with(tmp_path, source), [turns("a", "b"), turns("a", "b", "c", "d")])
    assert "pieces" in good and "error" in bad


@pytest.mark.parametrize(
    "escape",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.__class__ }}",
        "{{ [] | attr('__class__') }}",
        "{{ ''['__class__'] }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ ['{0.__class__}'] | map('format', 1) | list }}",
        "{% set f = '{0.__class__}'.format %}{{ f(1) }}",
        "{{ [1] | map('{0.__class__}'.format) | list }}",
        "{{ '{x.__class__}'.format_map({'x': 1}) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ lipsum.__globals__ }}",
        "{{ self.__init__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ dict.fromkeys.__globals__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__closure__ }}",
        "{{ namespace(__class__='x') }}",
        "{{ messages.append({}) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ ''.encode('nothing') }}",
    ],
)
def test_nothing_beyond_the_sandbox_is_reached(tmp_path, escape):
    """Refused, or empty as what jinja2 calls undefined; never a Python object."""
    (found,) = drive(folder_with(tmp_path, "[" + escape + "]" + CHATML), [turns("a", "b")])
    if "pieces" in found:
        text = "".join(text for text, _ in found["pieces"]).split("<|im_start|>")[0]
        assert text in ("[]", "[['{0.__class__}']]"), text


def fake_python(folder, text):
    file = folder / "python"
    file.write_text("#!/bin/sh\n" + text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


@pytest.mark.parametrize(
    "text, said",
    [
        ("exit 3\n", "ended with exit status 3"),
        ("kill -9 $$\n", "ended by signal 9"),
        ("echo hello >&0; sleep 9\n", 'wrote what is no reply: "hello"'),
        ("""echo '{"versions":{"jinja2":"9"}}' >&0; echo '{"x":' >&0; sleep 9\n""", "wrote what is no reply"),
    ],
)
def test_a_process_that_fails_is_named_with_exit_4(tmp_path, text, said):
    python = fake_python(tmp_path, text)
    line = refusal(folder_with(tmp_path, CHATML), code=4, env={"SLUICE_PYTHON": python})
    assert said in line and str(python) in line and line.count("\n") == 1


def test_an_interpreter_without_jinja2_is_passed_over(tmp_path):
    # An interpreter that answers as the script does where a module is missing.
    python = fake_python(tmp_path, """echo '{"missing":"jinja2","reason":"none"}' >&0\n""")
    run = run_driver(folder_with(tmp_path, CHATML), [turns("a", "b")], env={"SLUICE_PYTHON": python})
    # The next one has it; that none has it is a test of the child (tests/engine/python).
    assert run.returncode == 0 and json.loads(run.stdout)["pieces"]


def test_text_needs_no_python(run_sluice, flags):
    run_sluice("train", *flags, "steps=1", "out=run", env={"SLUICE_PYTHON": "/nonexistent"})
