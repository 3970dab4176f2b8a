"""Policies, trust and grants on disk: the only part of the policy that reads and writes files of its own."""
