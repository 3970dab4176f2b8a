"""`python -m handrail` is the `handrail` command."""

from handrail.cli import main

main()
