"""sluice doctor: every line has a verdict, every warning and failure its fix."""

import time


def test_json_follows_the_schema_in_under_five_seconds(run_sluice, validate):
    took = []
    for _ in range(3):  # What the machine does besides is not doctor's.
        start = time.monotonic()
        run = run_sluice("doctor", "--json", exit_code=None)
        took.append(time.monotonic() - start)
        if took[-1] < 5:
            break
    assert min(took) < 5
    report = run.json()
    validate(report, "doctor")
    assert run.code == (0 if report["ok"] else 4)
    for finding in report["findings"]:
        assert (finding["fix"] is not None) == (finding["verdict"] != "ok"), finding


def test_covers_what_the_contract_lists(run_sluice):
    subjects = {f["subject"] for f in run_sluice("doctor", "--json", exit_code=None).json()["findings"]}
    wanted = {"cpu", "memory", "memory channels", "numa", "wsl", "locked memory", "disk (runs)", "disk (store)", "openblas"}
    assert wanted <= subjects
    assert subjects & {"gpu", "driver"}


def test_text_lines_begin_with_their_verdict(run_sluice):
    lines = run_sluice("doctor", exit_code=None).out.splitlines()
    assert lines
    for line in lines:
        assert line.split()[0] in ("ok", "warn", "fail", "fix:"), line


def test_folder_that_cannot_be_written_fails_with_exit_4(run_sluice):
    run = run_sluice("doctor", "--runs", "/proc/nowhere", exit_code=None)
    if "disk (runs)" in run.out and run.code == 4:
        assert "fail" in run.out and "fix:" in run.out
    else:  # root may write nearly everywhere; /proc has no room in any case
        raise AssertionError(run.out)


def test_unknown_option_is_refused(refuses):
    refuses(["doctor", "--jsno"], "--jsno", "--json")


def test_deep_trains_and_compares_with_what_is_known(run_sluice, validate):
    report = run_sluice("doctor", "--deep", "--json", exit_code=None).json()
    validate(report, "doctor")
    lines = {finding["subject"]: finding for finding in report["findings"]}
    for subject in ("training (host)", "little memory (host)", "resuming (host)"):
        assert lines[subject]["verdict"] == "ok", lines[subject]
    assert "as known" in lines["training (host)"]["text"]
    assert lines["version"]["text"].startswith("sluice ") and "training (GPU)" in lines


def test_deep_without_a_folder_for_temporary_files_says_so(run_sluice):
    run = run_sluice("doctor", "--deep", exit_code=4, env={"TMPDIR": "/nowhere"})
    assert "TMPDIR" in run.err
