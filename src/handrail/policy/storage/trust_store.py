"""Which projects' policy files are trusted, on disk."""

from __future__ import annotations

from handrail.policy.storage.json_file import locked, read_json, write_json

__all__ = ["TrustStore"]


class TrustStore:
    """Which content of which policy file is trusted: a JSON file of absolute path → SHA-256."""

    def __init__(self, path: str) -> None:
        self.path = path

    def entries(self) -> dict[str, str]:
        """Everything that is trusted. A damaged file is an error, and trusts nothing."""
        return read_json(self.path, dict[str, str], {})

    def trust(self, policy_file: str, digest: str) -> None:
        """Trust that content of that file, in place of any other."""
        with locked(self.path):
            write_json(self.path, {**self.entries(), policy_file: digest})

    def untrust(self, policy_file: str) -> bool:
        """Trust the file no longer; whether it was trusted before."""
        with locked(self.path):
            entries = self.entries()
            if entries.pop(policy_file, None) is None:
                return False
            write_json(self.path, entries)
        return True
