"""Several hosts, which are network namespaces: the bits of one process, bytes between hosts as the plan says, and how all ranks end."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import available_verbs, program
from host_spaces import HostSpaces, can_make_hosts
from network_relay import NetworkRelay
from small_run import bits, steps_in

pytestmark = [
    pytest.mark.skipif("export" not in available_verbs(), reason="this build has no engine (SLUICE_ENGINE=OFF)"),
    pytest.mark.skipif(not can_make_hosts(), reason="network namespaces need root, and a system that has them"),
]

SAME = ("loss", "val_loss", "weights_sha256", "state_sha256", "job_hash")
PORT = 29650
#: Seconds without a word after which a rank is taken for lost.
SILENCE = 5


class Ranks:
    """The ranks of a run, `local` on each of `hosts`, in order."""

    def __init__(self, hosts, local, folder, home, words, before, patience, host_of):
        self.hosts = hosts
        self.processes = []
        for rank in range(hosts.count * local):
            host = host_of(rank) if host_of else rank // local
            told = {
                "SLUICE_RANK": str(rank), "SLUICE_SIZE": str(hosts.count * local), "SLUICE_HOST": f"host{host}",
                "SLUICE_ADDRESS": f"{hosts.address(0)}:{PORT}", "SLUICE_PATIENCE": str(patience), "SLUICE_HOME": str(home),
                "OPENBLAS_NUM_THREADS": "1",
            }  # fmt: skip
            begin = ["sh", "-c", f'{before[host]} && exec "$@"', "sh"] if host in before else []
            self.processes.append(
                subprocess.Popen(
                    hosts.on(host, [*begin, program(), "train", *words, "out=run", "--json"]),
                    env=os.environ | told, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )  # fmt: skip
            )

    def ends(self, timeout=240):
        """Code, output and last line of errors of each."""
        outputs = [each.communicate(timeout=timeout) for each in self.processes]
        self.errors = [errors for _, errors in outputs]
        return [
            (each.returncode, output, (errors.strip().splitlines() or [""])[-1])
            for each, (output, errors) in zip(self.processes, outputs)
        ]

    def result(self):
        """What the first rank found, if all ended well."""
        ends = self.ends()
        assert [code for code, *_ in ends] == [0] * len(ends), ends
        return json.loads(ends[0][1])

    def end(self):
        for each in self.processes:
            if each.poll() is None:
                each.kill()
                each.communicate()


@pytest.fixture
def start(sluice_home, tmp_path):
    """Starts ranks on hosts. `before` are shell commands that go before those of a host, by its number.
    Consecutive ranks share a host, unless `host_of` deals them otherwise."""
    started = []

    def begin(hosts, local, *words, before=None, patience=600, host_of=None):
        started.append(Ranks(hosts, local, tmp_path, sluice_home, words, before or {}, patience, host_of))
        return started[-1]

    yield begin
    for each in started:
        each.end()


@pytest.fixture
def words(flags):
    return [*flags, "--groups", "4"]


def from_other_hosts(folder, count, local):
    """Bytes that come to each host in a step, by the plan of a run."""
    ranks = count * local
    tasks = json.loads((folder / "predicted.trace").read_text())["tasks"]
    step = re.match(r"s\d+/", tasks[0]["id"]).group()
    entering = 0
    for task in tasks:
        name = task["id"].removeprefix(step)
        if task["lane"] != "fabric" or name == task["id"] or name.startswith(("exchange/inside/", "barrier/")):
            continue
        away = (ranks - local) / (ranks - 1)
        if name.startswith(("exchange/between/", "gather/between/")):  # Each rank of the host gets all of it from other hosts.
            entering += task["bytes"] * local
        elif name.startswith("exchange/"):  # Each rank of the host gets its own part.
            entering += task["bytes"] * local * away
        else:  # Every run enters the host once.
            entering += task["bytes"] * away
    return entering


def test_four_hosts_have_the_bits_of_one_process(run_sluice, start, flags, tmp_path):
    words = [*flags, "--batch-size", "8", "--micro-batch", "1", "--groups", "8", "steps=2"]
    one = run_sluice("train", *words, "out=one", "--json").json()
    with HostSpaces(4) as hosts:
        found = start(hosts, 2, *words, "machine.hosts=4", "machine.nic=100 MB/s").result()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "one")
    assert json.loads((tmp_path / "run" / "plan.json").read_text())["hosts"] == 4


@pytest.mark.parametrize("local", [1, 2])
def test_hosts_that_keep_all_weights_have_the_bits_of_one_process(run_sluice, start, words, tmp_path, local):
    one = run_sluice("train", *words, "steps=3", "out=one", "--json").json()
    pulls = ["plan.weights=host", "plan.gather=host", "machine.nic=100 MB/s"]
    with HostSpaces(2) as hosts:
        start(hosts, local, *words, *pulls, "steps=2").result()
        found = start(hosts, local, *words, *pulls, "steps=3", "--resume").result()
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert (plan["gather"], plan["hosts"]) == ("host", 2)
    kinds = {task["kind"] for task in json.loads((tmp_path / "run" / "measured.trace").read_text())["tasks"]}
    assert "store_weights" in kinds and ("barrier" in kinds) == (local == 2)
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "one")


def test_ranks_that_are_not_of_one_host_share_no_weights(start, words):
    with HostSpaces(2) as hosts:
        pulls = ["plan.weights=host", "plan.gather=host", "machine.nic=100 MB/s"]
        ends = start(hosts, 2, *words, *pulls, "steps=1", host_of=lambda rank: rank % 2).ends()
    assert all(code != 0 for code, *_ in ends) and any("plan: gather: host shares weights" in line for _, _, line in ends), ends


def rate_found(ranks):
    """The first rank's GB/s between hosts, and what it rests on."""
    found = re.search(r"launch: plan and predictions take ([\d.e-]+) GB/s between hosts, (.*); machine.nic", ranks.errors[0])
    assert found and not any("GB/s" in errors for errors in ranks.errors[1:]), ranks.errors
    return float(found.group(1)), found.group(2)


def test_a_launch_finds_hosts_and_network_and_sums_inside_hosts(run_sluice, start, words, tmp_path):
    one = run_sluice("train", *words, "steps=2", "out=one", "--json").json()
    with HostSpaces(2) as hosts:
        hosts.slow(megabits=80)
        ranks = start(hosts, 2, *words, "steps=2")
        found = ranks.result()
    rate, basis = rate_found(ranks)
    assert basis == "measured before the plan"
    assert 0 < rate < 0.02  # The cables carry 0.01 GB/s, and a burst of them more.
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "one")
    assert json.loads((tmp_path / "run" / "plan.json").read_text())["hosts"] == 2
    assert "machine.hosts" not in (tmp_path / "run" / "run.yaml").read_text()


def test_ranks_dealt_in_turn_exchange_among_all(run_sluice, start, words, tmp_path):
    one = run_sluice("train", *words, "steps=2", "out=one", "--json").json()
    with HostSpaces(2) as hosts:
        hosts.slow(megabits=80)
        ranks = start(hosts, 2, *words, "steps=2", host_of=lambda rank: rank % 2)
        found = ranks.result()
    assert "launch: ranks are dealt to the hosts in turn" in ranks.errors[0]
    assert rate_found(ranks)[1] == "measured before the plan"
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert json.loads((tmp_path / "run" / "plan.json").read_text()).get("hosts", 1) == 1


def test_a_stated_network_is_not_measured_and_other_hosts_are_refused(start, words):
    with HostSpaces(2) as hosts:
        ranks = start(hosts, 1, *words, "steps=1", "machine.nic=100 MB/s")
        ranks.result()
        assert "GB/s between hosts" not in ranks.errors[0]
        ends = start(hosts, 1, *words, "steps=1", "machine.hosts=4", "machine.nic=100 MB/s").ends()
    assert ends[0][0] == 2
    assert ends[0][2] == (
        "sluice: error: machine.hosts: is 4, and the launch has ranks on 2 hosts: leave machine.hosts out, for a launch knows its hosts"
    )


def torchrun_agents(hosts, command, folder):
    """An agent of torchrun on each host, with two ranks."""
    where = ["--master_addr", hosts.address(0), "--master_port", str(PORT)]
    # Versions before 2 fail in Python 3.11 unless both outputs are said for each rank.
    quiet = ["-r", "7:1", "-t", "7:1", "--log_dir", folder / "log"]
    words = ["--nnodes", "2", "--nproc_per_node", "2", *where, *quiet, "--no_python"]
    return [hosts.on(host, ["env", f"SLUICE_HOST=host{host}", "torchrun", "--node_rank", host, *words, *command]) for host in range(2)]


def mpirun_of_both(hosts, command, folder):
    """One mpirun that starts two ranks on each host."""
    parts = [["-n", "2", "env", f"SLUICE_HOST=host{host}", *hosts.on(host, command)] for host in range(2)]
    meet = ["-x", f"SLUICE_ADDRESS={hosts.address(0)}:{PORT}"]
    return [["mpirun", "--allow-run-as-root", "--oversubscribe", *meet, *parts[0], ":", *meet, *parts[1]]]


@pytest.mark.slow
@pytest.mark.parametrize(("program_name", "starts", "by"), [("torchrun", torchrun_agents, "torchrun"), ("mpirun", mpirun_of_both, "Open MPI")])
def test_launchers_of_two_hosts_sum_inside_them(run_sluice, words, sluice_home, tmp_path, program_name, starts, by):
    if shutil.which(program_name) is None:
        pytest.skip(f"{program_name} is not installed")
    one = run_sluice("train", *words, "steps=2", "out=one", "--json").json()
    command = [program(), "train", *map(str, words), "steps=2", "out=run", "--json"]
    with HostSpaces(2) as hosts:
        hosts.slow(megabits=80)
        started = [
            subprocess.Popen(
                list(map(str, each)), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=os.environ | {"SLUICE_HOME": str(sluice_home), "OPENBLAS_NUM_THREADS": "1"},
            )
            for each in starts(hosts, command, tmp_path)
        ]  # fmt: skip
        ends = [each.communicate(timeout=240) for each in started]
    said = "".join(output + errors for output, errors in ends)
    assert f"launch: 4 ranks on 2 hosts (host0, host1), by {by}" in said, said
    assert re.search(r"launch: plan and predictions take 0.0\d+ GB/s between hosts, measured before the plan", said), said
    found = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert json.loads((tmp_path / "run" / "plan.json").read_text())["hosts"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("gather", ["fabric", "host"])
@pytest.mark.parametrize(("count", "local"), [(2, 1), (4, 1), (2, 2), (4, 2), (2, 4)])
def test_bytes_between_hosts_are_those_of_the_plan(start, flags, tmp_path, count, local, gather, rounds):
    words = [*flags, "--model", "bytes-2m", "--batch-size", str(8 * rounds), f"plan.rounds={rounds}", "--micro-batch", "1", "--groups", "8", "--hbm", "64MiB"]
    words += ["--residency", "host", "--no-checkpoint", "--no-hashes", "evaluate_every=100"]
    words += [f"machine.hosts={count}", "machine.nic=100 MB/s", "plan.weights=host", "plan.weight_buffers=1", f"plan.gather={gather}"]
    received = []
    with HostSpaces(count) as hosts:
        for steps in (2, 5):
            before = hosts.received(1)
            start(hosts, local, *words, f"steps={steps}").result()
            received.append(hosts.received(1) - before)
            planned = from_other_hosts(tmp_path / "run", count, local)
            shutil.rmtree(tmp_path / "run")
    found = (received[1] - received[0]) / 3
    print(f"{count} hosts of {local}, gather {gather}, rounds {rounds}: {found / 1e6:.2f} MB a step into one of them, {planned / 1e6:.2f} MB by the plan")
    assert found == pytest.approx(planned, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [4, 8])
def test_any_plan_has_the_bits_of_one_process(run_sluice, start, flags, tmp_path, groups):
    words = [*flags, "--batch-size", "8", "--micro-batch", "1", "--groups", str(groups), "steps=2"]
    one = run_sluice("train", *words, "out=one", "--json").json()
    plans = (["--residency", "host"], ["plan.gather=host", "plan.weights=host"], ["plan.hosts=1"], ["plan.exchange_piece=16KiB", "plan.receive_buffers=1"], ["plan.keep=input", "--residency", "host"])
    with HostSpaces(groups // 2) as hosts:
        for plan in plans:
            found = start(hosts, 2, *words, f"machine.hosts={groups // 2}", "machine.nic=100 MB/s", *plan).result()
            assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}, plan
            assert bits(tmp_path / "run") == bits(tmp_path / "one"), plan
            shutil.rmtree(tmp_path / "run")


@pytest.mark.slow
def test_a_slow_network_that_loses_packets_changes_no_bit(run_sluice, start, words, tmp_path):
    one = run_sluice("train", *words, "steps=2", "out=one", "--json").json()
    with HostSpaces(2, cables=False) as hosts, NetworkRelay(hosts) as relay:
        relay.tell("delay", 0.01)
        relay.tell("loss", 0.01)
        found = start(hosts, 2, *words, "steps=2").result()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
    assert bits(tmp_path / "run") == bits(tmp_path / "one")


def wait_for(path):
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{path} does not appear")


def is_whole(folder):
    """Whether every file of a checkpoint is there."""
    return {"checkpoint.json", "model.safetensors", "m.safetensors", "v.safetensors"} <= {each.name for each in folder.iterdir()}


def go_on_with(ranks_on_one_host, run_sluice, start, words, tmp_path):
    """Resumes the run on one host for two steps and compares it with a run of one process."""
    last = max(steps_in(tmp_path / "run"))
    assert is_whole(tmp_path / "run" / "checkpoints" / f"step-{last}")
    more = [f"steps={last + 2}", "evaluate_every=0"]
    one = run_sluice("train", *words, *more, "out=one", "--json").json()
    with HostSpaces(1) as host:
        found = start(host, ranks_on_one_host, *words, *more, "--resume").result()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}


LONG = ("steps=100000", "save_every=20")


@pytest.mark.slow
def test_a_cut_network_ends_all_ranks_and_the_run_goes_on(run_sluice, start, words, tmp_path):
    with HostSpaces(2, cables=False) as hosts, NetworkRelay(hosts) as relay:
        ranks = start(hosts, 2, *words, *LONG, patience=SILENCE)
        wait_for(tmp_path / "run" / "checkpoints" / "step-20" / "checkpoint.json")
        relay.tell("cut", 1)
        begin = time.monotonic()
        ends = ranks.ends()
        assert time.monotonic() - begin < SILENCE + 10
    for rank, (code, _, line) in enumerate(ends):
        # The sides of a cut name each other.
        other = "[23] on host1" if rank < 2 else "[01] on host0"
        assert code == 4 and re.match(rf"sluice: error: rank {other} did not answer for {SILENCE} s", line), line
        assert "this was after step " in line and "to go on after step " in line
    go_on_with(2, run_sluice, start, words, tmp_path)


@pytest.mark.slow
def test_a_rank_that_hangs_ends_all_others(run_sluice, start, words, tmp_path):
    with HostSpaces(2) as hosts:
        ranks = start(hosts, 2, *words, *LONG, patience=SILENCE)
        wait_for(tmp_path / "run" / "checkpoints" / "step-20" / "checkpoint.json")
        ranks.processes[3].send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        for each in ranks.processes[:3]:
            each.wait(timeout=SILENCE + 10)
        assert time.monotonic() - begin < SILENCE + 10
        ranks.processes[3].kill()
        ends = ranks.ends()
    for code, _, line in ends[:3]:
        assert code == 4 and line.startswith(f"sluice: error: rank 3 on host1 did not answer for {SILENCE} s"), line
        assert "this was after step " in line
    go_on_with(1, run_sluice, start, words, tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    """Makes `disk` in the test's folder a disk of so many bytes."""

    def make(size):
        (tmp_path / "disk").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", tmp_path / "disk"], check=True)

    yield make
    subprocess.run(["umount", tmp_path / "disk"], check=False, capture_output=True)


def on_disk(folder):
    return f"mkdir -p {folder} && mount --bind disk {folder}"


@pytest.mark.slow
def test_a_full_disk_of_one_host_ends_all_ranks(run_sluice, start, words, small_disk, tmp_path):
    small_disk("232k")
    with HostSpaces(2) as hosts:
        ends = start(hosts, 2, *words, *LONG, before={1: on_disk("run/ranks")}).ends()
    for rank, (code, _, line) in enumerate(ends):
        assert code == 4 and "No space left on device" in line, ends
        if rank < 2:
            assert re.match(r"sluice: error: rank [23] on host1 failed: ", line), ends
            assert "this was after step " in line and "to go on after step " in line, ends
    go_on_with(2, run_sluice, start, words, tmp_path)


@pytest.mark.slow
def test_a_host_without_the_runs_folder_trains_and_goes_on_from_a_copy_of_the_checkpoints(
    run_sluice, start, words, tmp_path
):  # fmt: skip
    (tmp_path / "disk").mkdir()
    own = {1: on_disk("run")}
    one = run_sluice("train", *words, "steps=4", "out=one", "--json").json()
    with HostSpaces(2) as hosts:
        start(hosts, 2, *words, "steps=2", before=own).result()
        ends = start(hosts, 2, *words, "steps=4", "--resume", before=own).ends()
        assert [code for code, *_ in ends] != [0] * 4
        assert any("let all hosts see the same checkpoints" in line for *_, line in ends), ends
        shutil.copytree(tmp_path / "run" / "checkpoints", tmp_path / "disk" / "checkpoints")
        found = start(hosts, 2, *words, "steps=4", "--resume", before=own).result()
    assert {key: found[key] for key in SAME} == {key: one[key] for key in SAME}
