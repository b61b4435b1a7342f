"""`python -m tylo`."""

import sys

from tylo.cli import main

sys.exit(main())
