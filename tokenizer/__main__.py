"""`python -m tokenizer encode|decode|count FILE`. Written by gigatok-compile; do not edit."""

import sys

from gigatok_runtime.command import main

from . import tokenizer

if __name__ == "__main__":
    sys.exit(main(tokenizer))
