"""An experiment of four cells."""

import pytest

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
