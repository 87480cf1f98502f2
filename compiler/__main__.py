"""`python -m gigatok_compile` is the `gigatok-compile` command."""

import sys

from gigatok_compile.cli import main

if __name__ == "__main__":
    sys.exit(main())
