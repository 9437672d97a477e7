"""``python -m validation …`` is ``claimcheck validate …``."""

from __future__ import annotations

import sys

from commandline.main import main

if __name__ == "__main__":
    sys.exit(main(["validate", *sys.argv[1:]]))
