"""The drift canary: tries what Handrail depends on with a real CLI, and compares it with what is recorded.

::

    from handrail.testing.probing.comparing import compare
    from handrail.testing.probing.matrix import load_matrix
    from handrail.testing.probing.running import probe
    from handrail.testing.probing.scenarios import BEHAVIOURS

    probed = await probe(find_cli().argv)
    comparison = compare((2, 1, 330), probed.seen, load_matrix(), BEHAVIOURS)

The CLI runs in a scratch home, with a clean environment, and talks to a scripted model on loopback: it needs no
account, and leaves nothing behind. `handrail doctor --probe` does this, and says in words what it found.
"""
