"""autotune, evaluate, generate and export: what the program prints, with progress, interrupts and errors."""

import pathlib
import threading
import warnings

import pytest
import sluice

pytest.importorskip("sluice._training", reason="the module is built without the engine (SLUICE_ENGINE)")

RUN = {"model": "bytes-2m", "data": "text.txt", "machine": "here", "backend": "host", "seq_len": 32, "batch_size": 2}


@pytest.fixture(autouse=True)
def text(tmp_path, sluice_home):
    (tmp_path / "text.txt").write_text("the fox jumps over the dog. " * 100)


@pytest.fixture
def trained():
    return sluice.train(RUN, steps=2, out="run").run


def told(into):
    return lambda done, all_, each: into.append((done, all_, each))


def test_evaluate_gives_what_the_program_prints_and_counts_passes(cli, trained):
    seen = []
    found = sluice.evaluate(trained, "text.txt", backend="host", seq_len=32, stride=16, progress=told(seen))
    code, printed = cli("eval", trained, "--data", "text.txt", "--backend", "host", "--seq-len", 32, "--stride", 16, "--json")
    assert code == 0
    assert (found.loss, found.perplexity, found.bits_per_byte) == (printed["loss"], printed["perplexity"], printed["bits_per_byte"])
    assert found.to_dict().keys() == printed.keys()
    passes = [(done, all_) for done, all_, each in seen if each.what == "evaluating"]
    assert passes[-1] == (printed["passes"], printed["passes"]) and passes == sorted(passes)


def test_generate_streams_the_text_that_it_gives(cli, trained):
    seen = []
    found = sluice.generate(trained, "the ", max_new_tokens=6, backend="host", progress=told(seen), ignore_eos=True)
    _, printed = cli("generate", trained, "--prompt", "the ", "--max-new-tokens", 6, "--backend", "host", "--ignore-eos", "--json")
    assert (found.text, found.ids) == (printed["text"], printed["ids"])
    assert "".join(each.text for _, _, each in seen if each.what == "generating") == found.text
    assert sluice.generate(trained, "the ", max_new_tokens=6, backend="host", ignore_eos=True, stop=found.text[:1]).ended_by == "stop"


def test_export_writes_a_folder_that_is_a_model(trained, tmp_path):
    seen = []
    made = sluice.export(trained, "model", dtype="fp32", progress=told(seen))
    assert (made.step, made.dtype, made.folder) == (2, "fp32", "model")
    assert all((tmp_path / "model" / file["name"]).stat().st_size == file["bytes"] for file in made.files)
    assert seen[-1][0] == seen[-1][1] and seen[-1][2].what == "writing weights"
    whole = sluice.evaluate("model", "text.txt", backend="host", seq_len=32)
    assert whole.loss == pytest.approx(sluice.evaluate(trained, "text.txt", backend="host", seq_len=32).loss)


def test_autotune_keeps_a_plan_and_tells_of_its_iterations():
    seen = []
    tuning = {**RUN, "data": None}
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        tuned = sluice.autotune(tuning, minutes=0, steps=4, progress=told(seen))
    assert pathlib.Path(tuned.calibration_file).is_file() and pathlib.Path(tuned.report_file).is_file()
    assert [done for done, _, _ in seen] == [each["round"] for each in tuned.rounds]
    assert [each.measured_s for _, _, each in seen] == pytest.approx([each["measured_s"] for each in tuned.rounds])
    assert tuned.holds or any("does not hold" in str(each.message) for each in kept)


def test_a_wrong_request_has_the_programs_line(trained):
    with pytest.raises(sluice.BadRequest, match="--dtype: \"int3\" is unknown"):
        sluice.export(trained, "model", dtype="int3")
    with pytest.raises(sluice.BadRequest, match="there is no folder nowhere"):
        sluice.export("nowhere", "model")
    with pytest.raises(sluice.BadRequest, match="give a prompt, or messages"):
        sluice.generate(trained)
    with pytest.raises(sluice.DoesNotFit) as lack:
        sluice.evaluate(trained, "text.txt", backend="host", seq_len=32, hbm="1 MiB")
    assert lack.value.tier == "hbm" and lack.value.short_bytes > 0


def test_what_progress_raises_interrupts_the_program(trained):
    def stop(done, all_, each):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        sluice.generate(trained, "the ", max_new_tokens=100000, backend="host", ignore_eos=True, progress=stop)
    assert threading.active_count() == before


def test_a_module_without_the_program_says_what_to_install(monkeypatch):
    import sluice_program

    def missing():
        raise FileNotFoundError("bin/sluice is missing")

    monkeypatch.setattr(sluice_program, "path", missing)
    with pytest.raises(ImportError, match="sluice.export runs the program `sluice`"):
        sluice.export("run", "model")


def test_a_conversation_goes_to_the_program_as_messages(trained):
    with pytest.raises(sluice.BadRequest, match="--chat: needs the tokenizer"):
        sluice.generate(trained, messages=[{"role": "user", "content": "hello"}], backend="host")
