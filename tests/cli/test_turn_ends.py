"""What a run on conversations keeps of its template: the token that ends turns, jinja2's version, and the date."""

import datetime
import hashlib
import json

import pytest
from chat_data import conversations, write_chat_model, write_jsonl
from chat_templates import CHATML, LLAMA32
from conftest import available_verbs

pytest.importorskip("jinja2", reason="python3-jinja2 is not installed")
pytest.importorskip("tokenizers", reason="PyPI's tokenizers is not installed (scripts/install tests)")
pytestmark = pytest.mark.skipif("train" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)")


@pytest.fixture
def flags(tmp_path):
    """Flags of a small run on one question and its answer, many times."""
    rows = [[{"role": "user", "content": "red"}, {"role": "assistant", "content": "good"}]] * 40
    write_jsonl(tmp_path / "chat.jsonl", [{"messages": each} for each in rows])
    return [
        "--model", "model", "--data", "chat.jsonl", "--machine", "here", "--backend", "host", "--seq-len", "32",
        "--batch-size", "4", "--hbm", "8MiB", "--host", "1GiB", "optimizer.lr=0.01", "out=run",
    ]  # fmt: skip


def test_a_base_model_learns_to_stop_and_its_export_says_so(run_sluice, tmp_path, flags):
    tokenizer = write_chat_model(tmp_path / "model", template=CHATML)
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": 0, "top_p": 0.9}))
    run_sluice("train", *flags, "steps=60", cwd=tmp_path)
    end = tokenizer.token_to_id("<|im_end|>")
    words = ["generate", "run", "--prompt", "<|im_start|>user\nred<|im_end|>\n<|im_start|>assistant\n", "--max-new-tokens", "20",
             "--machine", "here", "--backend", "host", "--json"]  # fmt: skip
    said = run_sluice(*words, cwd=tmp_path).json()
    assert said["ended_by"] == "end" and end not in said["ids"] and said["new_tokens"] < 20
    on = run_sluice(*words, "--ignore-eos", cwd=tmp_path).json()
    assert on["new_tokens"] == 20 and end in on["ids"]
    run_sluice("export", "run", "-o", "out", cwd=tmp_path)
    assert json.loads((tmp_path / "out" / "generation_config.json").read_text()) == {"eos_token_id": [0, end], "top_p": 0.9}


def test_an_export_without_a_generation_config_gets_one(run_sluice, tmp_path, flags):
    tokenizer = write_chat_model(tmp_path / "model", template=CHATML)
    run_sluice("train", *flags, "steps=1", cwd=tmp_path)
    run_sluice("export", "run", "-o", "out", cwd=tmp_path)
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    before = config.get("eos_token_id", [])
    expected = (before if isinstance(before, list) else [before]) + [tokenizer.token_to_id("<|im_end|>")]
    assert json.loads((tmp_path / "out" / "generation_config.json").read_text())["eos_token_id"] == expected


def test_a_template_that_asks_for_the_date_sees_that_of_the_first_start(run_sluice, tmp_path, flags):
    template = CHATML + "{{ strftime_now('%d %b %Y') }}"
    write_chat_model(tmp_path / "model", template=template)
    days = [datetime.datetime.now(datetime.timezone.utc).strftime("%d %b %Y")]
    run_sluice("train", *flags, "steps=1", cwd=tmp_path)
    days.append(datetime.datetime.now(datetime.timezone.utc).strftime("%d %b %Y"))
    kept = (tmp_path / "run" / "run.yaml").read_text()
    assert any(f'date_string: "{day}"' in kept for day in days)
    # The run goes on with its own date, whatever the day is.
    run_sluice("train", "run", "--resume", "steps=2", cwd=tmp_path)
    assert (tmp_path / "run" / "run.yaml").read_text().count("date_string") == 1


def sha256(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def checkpoint_of(folder):
    return folder / "run" / "checkpoints" / "step-1" / "checkpoint.json"


def change(file, facts):
    """Writes a checkpoint's facts with the hash that belongs to them."""
    body = {key: value for key, value in facts.items() if key != "hash"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file.write_text(json.dumps({**body, "hash": sha256(text)}))


def test_a_run_of_0_1_0_goes_on_with_the_hash_that_it_took_of_its_data(run_sluice, refuses, tmp_path, flags):
    write_chat_model(tmp_path / "model", template=CHATML)
    run_sluice("train", *flags, "steps=1", cwd=tmp_path)
    file = checkpoint_of(tmp_path)
    facts = json.loads(file.read_text())
    fields = ["messages", "text", "instruction", "input", "output", "history", "system", "messages", "role", "content",
              "user user", "assistant assistant", "system system"]  # fmt: skip
    chatml = ["0", "\x01", "\x01", "[INST] ", "[/INST]", " ", "0", "1", "", ""]
    documents = "sluice/documents\nversion=1\nrecords={}\ntokenizer={}\nformat={}\ntemplate={}\n".format(
        sha256((tmp_path / "chat.jsonl").read_bytes()), sha256((tmp_path / "model" / "tokenizer.json").read_bytes()),
        "\n".join(fields), "\x1f".join(chatml),
    )  # fmt: skip
    taken = sha256(f"sluice/sequences\ndocuments={sha256(documents)}\npacking=off\n")
    assert taken != facts["data_sha256"]
    kept = {key: value for key, value in facts.items() if key not in ("jinja2", "turn_end")}
    change(file, {**kept, "data_sha256": "0" * 64})
    refuses(["train", "run", "--resume", "steps=2"], "of another text", cwd=tmp_path)
    change(file, {**kept, "data_sha256": taken})
    run_sluice("train", "run", "--resume", "steps=2", cwd=tmp_path)
    after = json.loads((tmp_path / "run" / "checkpoints" / "step-2" / "checkpoint.json").read_text())
    assert after["data_sha256"] == taken


def test_another_jinja2_is_refused_by_its_version(run_sluice, refuses, tmp_path, flags):
    write_chat_model(tmp_path / "model", template=CHATML)
    run_sluice("train", *flags, "steps=1", cwd=tmp_path)
    facts = json.loads(checkpoint_of(tmp_path).read_text())
    assert facts["turn_end"] == "<|im_end|>" and facts["jinja2"].startswith("3.")
    change(checkpoint_of(tmp_path), {**facts, "jinja2": "3.0.9"})
    refuses(["train", "run", "--resume", "steps=2"], "jinja2 3.0.9", "SLUICE_PYTHON", cwd=tmp_path)


def test_a_run_on_text_keeps_none_of_it(run_sluice, tmp_path, flags):
    write_chat_model(tmp_path / "model", template=LLAMA32)
    write_jsonl(tmp_path / "chat.jsonl", [{"text": each[0]["content"] * 9} for each in conversations(40)])
    run_sluice("train", *flags, "steps=1", cwd=tmp_path)
    facts = json.loads(checkpoint_of(tmp_path).read_text())
    assert "turn_end" not in facts and "jinja2" not in facts
