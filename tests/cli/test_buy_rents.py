"""sluice buy over clouds and machines that people ask for: hosts that come with a GPU, pages, what the engine does not run on."""

import html.parser
import json

import pytest
from test_predict import TINY

GIB = 2**30
PRICES = """
prices:
  a100-80-sxm: {rent_usd_per_hour: 1.3, date: 2026-01-01}
parts:
  gpu rtx-4090: {buy_usd: 1600, date: 2026-01-01}
  cpu ryzen-9-9950x: {buy_usd: 1300, date: 2026-01-01}
  64 GiB DDR5-5600: {buy_usd: 384, date: 2026-01-01}
  ssd gen4: {buy_usd: 170, date: 2026-01-01}
instances:
  cloud one: {gpu: l40s, gpus: 1, gib: 64, vcpus: 8, usd_per_hour: 1.9, date: 2026-02-01, address: "https://rents.example"}
"""


@pytest.fixture
def job(tmp_path):
    config, prices = tmp_path / "config.json", tmp_path / "prices.yaml"
    config.write_text(json.dumps(TINY))
    prices.write_text(PRICES)
    return ["--model", config, "--seq-len", "64", "--batch-size", "8", "--loss-chunk", "64", "--tokens", "1T", "--prices", prices]


class Tags(html.parser.HTMLParser):
    """Tags of a page that are open at its end, and all attributes by which a page loads something."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.seen = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "data") or (name == "href" and tag == "link")]

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_a_rented_gpu_brings_its_share_and_an_instance_its_own_host(run_sluice, validate, job, tmp_path):
    page = tmp_path / "advice.html"
    document = run_sluice("buy", *job, "--html", page, "--json").json()
    validate(document, "buy")
    rows = {row["machine"]: row for row in document["rows"]}
    share, instance = rows["a100-80-sxm"], rows["cloud one"]
    # An eighth of a node with 1,152 GiB and 48 cores; all of an instance, a core for each two virtual CPUs.
    assert share["rented"] == {"memory_bytes": 144 * GIB, "cores": 6} and share["gpus"] == 8
    assert instance["rented"] == {"memory_bytes": 64 * GIB, "cores": 4} and instance["kind"] == "instance"
    assert instance["like"] == "l40s" and instance["price_date"] is None and instance["rent_usd_per_hour"] == 1.9
    text = page.read_text()
    tags = Tags()
    tags.feed(text)
    assert tags.open == [] and tags.loads == [] and not tags.seen & {"script", "link", "img", "iframe"}
    assert "svg" in tags.seen and text.count('class="build"') >= 1
    for word in ("cloud one", "https://rents.example", "watts", "add next", document["verdict"][0][:20]):
        assert word in text
    # The same advice is at hand the second time: nothing new is tried, and nothing differs.
    again = run_sluice("buy", *job, "--json").json()
    assert again["rows"] == document["rows"]


def test_machines_that_people_ask_for_are_rows_that_say_what_runs_there(run_sluice, job):
    names = "2x-rtx-4090,dgx-spark,strix-halo,mi300x,m3-ultra,v100,rtx-5060-ti,a10g"
    document = run_sluice("buy", *job, "--machines", names, "--json").json()
    rows = {row["machine"]: row for row in document["rows"]}
    assert set(names.split(",")) <= set(rows)
    assert all(rows[name]["engine"] == "none" for name in ("strix-halo", "mi300x", "m3-ultra", "v100"))
    assert all(rows[name]["engine"] == "never run" for name in ("2x-rtx-4090", "dgx-spark", "rtx-5060-ti", "a10g"))
    assert rows["dgx-spark"]["is_arm"] and not rows["a10g"]["is_arm"]
    two = rows["2x-rtx-4090"]
    assert two["gpus"] == two["devices"] == 2 and two["fits"] and two["buy_usd"] == 2 * 1600 + 1300 + 2 * 384 + 170
    verdict = " ".join(document["verdict"])
    assert "Not advised, the engine does not run there" in verdict and document["base"] not in ("mi300x", "strix-halo", "m3-ultra", "v100")


@pytest.mark.parametrize("name", ["gb10", "mi355x", "h800", "h20", "b300", "rtx-5070-ti", "2x-rtx-3090"])
def test_more_machines_that_people_ask_for_are_known(run_sluice, name):
    shown = {"gb10": "dgx-spark"}.get(name, name)
    assert run_sluice("machines", "show", name).out.startswith(shown + ":")


def test_more_memory_makes_the_cure_on_the_drive_faster(run_sluice, tmp_path):
    config = tmp_path / "large.json"  # 2.8 G parameters: 32 GiB of state.
    config.write_text(json.dumps({**TINY, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 12,
                                  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000}))
    run = ["--model", config, "--seq-len", "64", "--batch-size", "2", "--residency", "host"]
    steps = []
    for kit in ("1x16 GiB DDR5-5600", "2x16 GiB DDR5-5600"):
        document = run_sluice("predict", *run, "--machine", f"rtx-4090 + {kit}", "--json", exit_code=3).json()
        cures = {one["setting"].split()[0]: one for one in document["remedies"]}
        assert all(setting in cures for setting in ("--disk", "--ram"))
        steps.append(cures["--disk"]["step_s"])
    assert steps[1] < steps[0]


def test_the_plans_own_limit_is_named_beside_the_bound(run_sluice, job):
    """USERS 12: copies held to little are what limits the step, whatever bounds the best plan on a fast link."""
    run = [*job[:8], "--machine", "rtx-pro-6000-ws", "--policy", "zero-infinity", "--link", "20 MB/s"]
    document = run_sluice("predict", *run, "--json").json()
    assert document["limited_by"] in ("h2d", "d2h") and document["limited_share"] > 0.5
    fast = run_sluice("predict", *job[:8], "--machine", "rtx-pro-6000-ws", "--policy", "zero-infinity", "--json").json()
    assert fast["step_s"] < document["step_s"]


def test_rates_scaled_from_another_gpu_are_rules_and_a_mixture_is_told_its_micro_batch(run_sluice):
    """USERS 8 and 17."""
    job = ["--model", "qwen3-30b-a3b", "--seq-len", "512", "--batch-size", "16", "--machine", "rtx-pro-6000-ws"]
    document = run_sluice("predict", *job, "--json").json()
    assert document["evidence"]["fitted"] < 0.1 and document["evidence"]["datasheet"] > 0.5
    assert "--micro-batch " in run_sluice("predict", *job).out


def test_parts_are_keys_of_a_run_file(run_sluice, job, tmp_path):
    run = tmp_path / "run.yaml"
    sizes = f"model: {job[1]}\nseq_len: 64\nbatch_size: 8\nloss_chunk: 64\n"
    run.write_text(sizes + "machine: rtx-4090\nram: 4x64 GiB DDR5-5600\n")
    whole = run_sluice("predict", *job[:8], "--machine", "rtx-4090 + 4x64 GiB DDR5-5600", "--json").json()
    assert run_sluice("predict", run, "--json").json()["profile_hash"] == whole["profile_hash"]
    run.write_text(sizes + "gpu: rtx-5090\n")
    other = run_sluice("predict", run, "--json").json()
    assert other["profile_hash"] not in ("", whole["profile_hash"])


def test_a_slow_slot_is_slower_and_a_larger_batch_is_said_before_hardware(run_sluice, tmp_path):
    """FIELD C4: sixteen lanes, eight, and a cable."""
    config = tmp_path / "wide.json"
    wide = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 8}
    config.write_text(json.dumps({**TINY, **wide, "head_dim": 64, "vocab_size": 1024}))
    run = ["--model", config, "--seq-len", "128", "--batch-size", "4", "--loss-chunk", "64", "--hbm", "750 MiB", "--residency", "host"]
    links = ("26 GB/s", "13 GB/s", "2.8 GB/s")
    steps = [run_sluice("predict", *run, "--machine", "rtx-4090", "--link", link, "--json").json()["step_s"] for link in links]
    assert steps == sorted(steps) and steps[-1] > 2 * steps[0]
    verdict = "\n".join(run_sluice("buy", *run, "--machines", "rtx-4090", "--link", "2.8 GB/s", "--json").json()["verdict"])
    assert "Before hardware: compute waits" in verdict and "sequences on, compute sets the bound" in verdict


def test_what_is_rented_has_a_price_beside_a_machine_of_ones_own(run_sluice, job):
    own = "rtx-4090 + 2x64 GiB DDR5-5600"
    rows = run_sluice("buy", *job, "--own", "--machine", own, "--machines", f"{own},a100-80-sxm", "--json").json()["rows"]
    rent = {row["machine"]: row["rent_usd_per_hour"] for row in rows}
    assert rent["a100-80-sxm"] == 1.3 and rent[own] is None


def test_state_on_drives_that_one_has_comes_before_hardware(run_sluice, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    own = "rtx-4090 + 2x16 GiB DDR5-5600"
    words = ["--model", "qwen2.5-7b", "--seq-len", "512", "--batch-size", "4", "--tokens", "1M", "--prices", prices, "--own"]
    advice = run_sluice("buy", *words, "--machine", own, "--machines", own, "--json").json()
    assert not next(row for row in advice["rows"] if row["machine"] == own)["fits"]
    said = [sentence for sentence in advice["verdict"] if sentence.startswith("Before hardware: with state on its drives")]
    assert len(said) == 1 and "--disk " in said[0]
    assert "qwen2.5-7b" in advice["question"]


def test_hosts_of_a_machine_are_rows_with_their_rents(run_sluice, validate, refuses, job, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices:\n  2x-h100-sxm: {rent_usd_per_hour: 5, date: 2026-01-01}\n")
    words = ["buy", *job, "--batch-size", "64", "--machines", "2x-h100-sxm", "--hosts", "2"]
    refuses(words, "states no NICs")
    refuses([*words, "--hosts", "1", "--nic", "100GbE"], "--hosts: ")
    document = run_sluice(*words, "--nic", "100GbE", "--json").json()
    validate(document, "buy")
    two = {row["machine"]: row for row in document["rows"]}["2 hosts of 2x-h100-sxm + 100GbE"]
    assert two["fits"] and two["devices"] == 4 and two["rent_usd_per_hour"] == 10
    # A cluster's name is a machine's too.
    named = run_sluice("buy", *job, "--batch-size", "64", "--machines", "2 hosts of 2x-h100-sxm + 100GbE", "--json").json()
    assert {row["machine"]: row["step_s"] for row in named["rows"]}["2 hosts of 2x-h100-sxm + 100GbE"] == two["step_s"]


@pytest.mark.slow
def test_hosts_of_instances_are_rows_with_their_rents(run_sluice, job, tmp_path):
    node = "{gpu: h100-sxm, gpus: 2, gib: 512, vcpus: 48, usd_per_hour: 6, date: 2026-02-01, address: 'https://rents.example'"
    (tmp_path / "prices.yaml").write_text(f"instances:\n  fast: {node}, nic: 8x400GbE}}\n  lone: {node}}}\n")
    everywhere = run_sluice("buy", *job, "--batch-size", "64", "--hosts", "2", "--nic", "100GbE", "--json").json()
    rows = {row["machine"]: row for row in everywhere["rows"]}
    for name, nic in (("2 hosts of fast", "8x400GbE"), ("2 hosts of lone", "100GbE")):
        assert rows[name]["like"] == f"2 hosts of 2x-h100-sxm + {nic}"
        assert rows[name]["devices"] == 4 and rows[name]["rent_usd_per_hour"] == 12
    assert rows["2 hosts of fast"]["step_s"] <= rows["2 hosts of lone"]["step_s"]
