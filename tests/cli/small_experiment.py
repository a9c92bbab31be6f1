"""An experiment of four cells."""

import pytest

BRIEFLY = ("--effort", "0.05")  # What a verb is told, to search as `brief` does.
SMALL = """\
name: small
question: Do two buffers help?
baseline:
  model: bytes-2m
  machine: h200
  seq_len: 64
  batch_size: 4
  residency: host
factors:
  buffers: {path: plan.weight_buffers, values: [1, 2]}
  keep:
    levels:
      planned: {}
      all: {plan.keep: all}
"""


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def brief(tmp_path):
    """The experiment with plans that are searched briefly."""
    file = tmp_path / "brief.yaml"
    file.write_text(SMALL + f"effort: {BRIEFLY[1]}\n")
    return file
