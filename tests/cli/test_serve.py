"""`sluice serve`: the page and its JSON for this computer's browser, and nothing of the host besides."""

import http.client
import json
import re
import signal
import socket
import urllib.parse

import pytest

from conftest import available_verbs
from running import start

if "serve" not in available_verbs():
    pytest.skip("this build has no serve: cpp-httplib was missing", allow_module_level=True)

JOB = {"model": "bytes-2m", "machine": "rtx-4090", "seq-len": "64", "batch-size": "4"}


class Served:
    """A server that runs, and raw requests to it."""

    def __init__(self, folder, *words):
        self.process = start(["serve", "--port", "0", *words], folder)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/  \(Ctrl-C ends it\)\n", line)
        assert found, line + self.process.stderr.read()
        self.port = int(found[1])

    def get(self, path, headers=None, method="GET", body=None):
        """Status, headers and body of one request, whose path is sent as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.putrequest(method, path, skip_host=True)
            given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
            if body is not None:
                given["Content-Length"] = str(len(body))
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def ask(self, path, status=200, **query):
        code, _, body = self.get(path + ("?" + urllib.parse.urlencode(query) if query else ""))
        assert code == status, body
        return json.loads(body)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with runs in it, a secret beside them, and links that lead there."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "secret.txt").write_text("the secret")
    run = folder / "runs" / "first"
    run.mkdir(parents=True)
    (run / "run.yaml").write_text('model: "/some/where/bytes-2m"\nsteps: 3\nmachine: "here"\n')
    rows = [{"step": step, "loss": 5.0 - step, "step_s": 0.1, "predicted_s": 0.2, "useful_tokens_per_s": 10.0} for step in (1, 2)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 3, "lo')
    (folder / "outside").mkdir()
    (folder / "outside" / "metrics.jsonl").write_text('{"step": 1, "secret": "the secret"}\n')
    (folder / "runs" / "link").symlink_to(folder / "outside")
    (folder / "runs" / "linked").mkdir()
    (folder / "runs" / "linked" / "metrics.jsonl").symlink_to(folder / "outside" / "metrics.jsonl")
    (folder / "runs" / "empty").mkdir()
    return folder


@pytest.fixture(scope="module")
def served(place):
    server = Served(place, "--runs", "runs", "--buy-seconds", "3")
    yield server
    server.end()


def test_the_page_comes_with_everything_that_it_needs(served):
    status, headers, page = served.get("/")
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    for path in re.findall(r'(?:src|href)="([^"#][^"]*)"', page):
        assert path.startswith("data:") or served.get("/" + path)[0] == 200, path
    script = served.get("/page.js")[2]
    assert not re.search(r"https?://(?!www\.w3\.org/)", page + script + served.get("/style.css")[2])


def test_a_prediction_is_what_the_program_prints(served, place, run_sluice):
    said = run_sluice("predict", *[word for name, value in JOB.items() for word in ("--" + name, value)], "--json", env={"SLUICE_HOME": str(place)})
    assert served.get("/api/predict?" + urllib.parse.urlencode(JOB))[2] == said.out
    unfit = {**JOB, "hbm": "1 MiB", "policy": "megatrain-schedule"}
    said = run_sluice("predict", *[word for name, value in unfit.items() for word in ("--" + name, value)], "--json", exit_code=3, env={"SLUICE_HOME": str(place)})
    assert served.ask("/api/predict", **unfit) == said.json()


def test_the_timeline_is_of_one_step_and_no_lane_does_two_things_at_once(served):
    found, line = served.ask("/api/predict", **JOB), served.ask("/api/timeline", **JOB)
    assert line["step_s"] == found["step_s"] and not line["joined"]
    for lane, name in enumerate(line["lanes"]):
        spans = [(start, end) for at, start, end in zip(line["lane"], line["start_s"], line["end_s"]) if at == lane]
        assert all(start < end for start, end in spans)
        assert all(before[1] <= after[0] + 1e-12 for before, after in zip(spans, spans[1:]))
        assert sum(end - start for start, end in spans) == pytest.approx(found["busy"][name] * found["step_s"], rel=1e-6, abs=2e-9)


def test_the_catalogue_is_what_the_program_lists(served, place, run_sluice):
    found = served.ask("/api/catalogue")
    assert found["models"] == run_sluice("models", "--json").json()
    listed = run_sluice("machines", "--json", env={"SLUICE_HOME": str(place)}).json()
    for machines in (found["machines"], listed):
        assert machines["machines"].pop(0)["name"] == "here"  # Its memory is what is free at the moment.
    assert found["machines"] == listed
    assert found["parts"] == run_sluice("machines", "parts", "--json").json()
    assert found["prices"] is False


@pytest.mark.slow
def test_advice_has_the_programs_fields(served):
    advice = served.ask("/api/buy", model="bytes-2m", tokens="1M", **{"seq-len": "64", "batch-size": "4"})
    assert advice["verdict"] and {row["machine"] for row in advice["rows"]} >= {"rtx-4090", "h200"}


def test_runs_are_listed_with_what_is_whole(served):
    assert served.ask("/api/runs") == {"runs": [{"name": "first", "model": "bytes-2m", "machine": "here", "of": 3, "steps": 2, "running": False,
                                                 "loss": 3.0, "step_s": 0.1, "predicted_s": 0.2}]}  # fmt: skip
    assert [row["step"] for row in served.ask("/api/metrics", run="first")["rows"]] == [1, 2]
    assert [row["step"] for row in served.ask("/api/metrics", run="first", after="1")["rows"]] == [2]


@pytest.mark.parametrize("path", [
    "/secret.txt", "/../secret.txt", "/runs/first/metrics.jsonl", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "//etc/passwd", "/etc/passwd",
    "/api/../../secret.txt", "/style.css/../../secret.txt", "/page.js%00.txt", "/\\..\\secret.txt", "/proc/self/environ",
])  # fmt: skip
def test_no_path_leads_to_a_file(served, path):
    status, _, body = served.get(path)
    assert status in (400, 404) and "secret" not in body and "root:" not in body


@pytest.mark.parametrize("name", ["../outside", "..", ".", "", "link", "linked", "empty", "first/../../outside", "/etc", "first\0", "%2e%2e/outside"])
def test_no_name_of_a_run_leads_elsewhere(served, name):
    assert "secret" not in json.dumps(served.ask("/api/metrics", 400, run=name))


@pytest.mark.parametrize("key, value", [
    ("model", "../secret.txt"), ("model", "/etc/passwd"), ("machine", "secret.txt"), ("machine", "./mine.json"), ("policy", "p.yaml"), ("gpu", "/x"),
    ("ram", "../secret.txt"), ("ssd", "/etc/passwd"), ("hbm", "--plan=x"), ("tokens", "-1"), ("kernels", "secret.txt"), ("plan", "secret.txt"),
    ("set", "machine.kernels=secret.txt"), ("data", "secret.txt"), ("out", "x"), ("prices", "secret.txt"), ("graph-out", "x.json"), ("json", "1"),
])  # fmt: skip
def test_no_parameter_is_read_as_a_path(served, place, key, value):
    before = sorted(place.rglob("*"))
    for path in ("/api/predict", "/api/timeline", "/api/buy"):
        answer = served.ask(path, 400, **{**JOB, key: value})
        assert "secret" not in answer["error"]
    assert sorted(place.rglob("*")) == before


def test_another_sites_name_in_host_is_refused(served):
    """As DNS rebinding would send it: the connection comes here, the name is another."""
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", f"127.0.0.1:{served.port + 1}", "", None, f"127.0.0.1:{served.port}.evil.example"):
        for path in ("/", "/api/runs", "/api/catalogue"):
            status, _, body = served.get(path, {"Host": host})
            assert status in (400, 403) and "runs" not in body, host
    assert served.get("/", {"Host": f"localhost:{served.port}"})[0] == 200


def test_another_sites_page_is_refused(served):
    assert served.get("/api/runs", {"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert served.get("/api/runs", {"Sec-Fetch-Site": "same-site"})[0] == 403
    assert served.get("/api/runs", {"Sec-Fetch-Site": "same-origin"})[0] == 200
    assert "Access-Control-Allow-Origin" not in served.get("/api/runs", {"Origin": "http://evil.example"})[1]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_only_reads(served, method):
    assert served.get("/api/runs", method=method, body=b"")[0] == 405


def test_it_listens_at_the_loopback_alone(served):
    listening = [line.split() for line in open("/proc/net/tcp") if f":{served.port:04X} " in line and " 0A " in line]
    assert [row[1] for row in listening] == [f"0100007F:{served.port:04X}"]


def test_a_port_that_is_taken_is_said_in_one_line(served, refuses):
    refuses(["serve", "--port", str(served.port)], f"port {served.port} of 127.0.0.1 is taken", "--port", exit_code=4)


def test_a_file_of_prices_that_is_none_is_refused_at_the_start(refuses):
    refuses(["serve", "--port", "0", "--prices", "none.yaml"], "none.yaml")


def test_it_survives_what_is_no_request(served):
    for text in (b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", b"A" * 100_000):
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
            try:
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
            except OSError:
                pass
    assert served.ask("/api/runs")["runs"]
    assert served.process.poll() is None
