"""A model folder goes to a hub by the real client, here to a hub of a few lines that keeps what it is sent."""

import base64
import http.server
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest
from sluice.errors import BadRequest
from sluice.push import push

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
needs_client = pytest.mark.skipif(importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed (PyPI)")


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers the requests of an upload whose files are all small."""

    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer(200, {"id": "me/small", "sha": "0" * 40, "siblings": []})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        address = self.server.address
        if self.headers.get("Authorization") != "Bearer hf_right":
            self.answer(401, {"error": "Invalid token"})
        elif self.path == "/api/repos/create":
            self.server.made.append(json.loads(body))
            self.answer(200, {"url": f"{address}/me/small", "name": "me/small"})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            self.answer(200, {"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]})
        elif "/commit/" in self.path:
            for row in map(json.loads, body.splitlines()):
                if row["key"] == "file":
                    self.server.files[row["value"]["path"]] = base64.b64decode(row["value"]["content"])
            self.answer(200, {"commitUrl": f"{address}/me/small/commit/abc", "commitOid": "abc", "success": True})
        else:
            self.answer(200, {})

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.address, server.made, server.files = f"http://127.0.0.1:{server.server_port}", [], {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "model.safetensors").write_bytes(bytes(range(64)))
    return folder


def pushed(hub, *words, token="hf_right", home):
    environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_TOKEN": token, "HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    return subprocess.run([sys.executable, "-m", "sluice.push", *map(str, words)], env=environment, capture_output=True, text=True)


@needs_client
def test_every_file_arrives_in_a_private_repository(hub, model, tmp_path):
    done = pushed(hub, model, "me/small", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{hub.address}/me/small/commit/abc"
    assert hub.files == {path.name: path.read_bytes() for path in model.iterdir()}
    assert [made.get("private") or made.get("visibility") == "private" for made in hub.made] == [True]


@needs_client
def test_a_hub_that_refuses_is_one_line(hub, model, tmp_path):
    done = pushed(hub, model, "me/small", token="hf_wrong", home=tmp_path)
    assert done.returncode == 4 and not hub.files
    (line,) = done.stderr.splitlines()
    assert re.match(r"sluice.push: error: me/small was not pushed: .*401", line)


def test_a_run_and_a_name_without_owner_are_refused(model, tmp_path):
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(BadRequest, match="sluice export"):
        push(tmp_path, "me/small")
    with pytest.raises(BadRequest, match="OWNER/MODEL"):
        push(model, "small")
    (model / "model.safetensors").unlink()
    with pytest.raises(BadRequest, match="lacks config.json or weights"):
        push(model, "me/small")
