"""The process behind `SimulatedCLI`: plays a script and speaks Claude Code's stream-json protocol meanwhile.

It runs by itself (`simulated_main.py`; standard library only, nothing of Handrail), because tests start it
hundreds of times. One thread does everything: whatever waits, waits in `Core.pump`, and there input is read,
control requests are answered, and a turn finds out that it was interrupted.
"""
