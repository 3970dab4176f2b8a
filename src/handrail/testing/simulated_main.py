"""Starts the simulated CLI: `python -S -I simulated_main.py SCRIPT [ARGUMENT ...]`.

A file of its own because it is run by path, without Handrail on the module path; the code proper is imported, so
that its compiled form is cached.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from simulated_process.script import main  # type: ignore[import-not-found]

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
