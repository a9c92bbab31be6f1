"""``python -m sluice ...``: the program `sluice` that this package came with."""

from sluice_program import main

main()
