"""What the version of a running CLI cannot do."""

from __future__ import annotations

import logging

from handrail.protocol.options import Options
from handrail.protocol.options.since import too_new_for
from handrail.transports.discovery import Version, parse_version, version_warnings

__all__ = ["applies_environment", "log_shortcomings", "survives_withdrawals"]

logger = logging.getLogger("handrail.client")

DIES_OF_CANCELLATIONS: Version = (2, 1, 37)
LAST_TO_APPLY_ENVIRONMENT: Version = (2, 1, 150)


def survives_withdrawals(version: str) -> bool:
    """Whether it can be told that the answer to a request is no longer wanted."""
    parsed = parse_version(version)
    return parsed is not None and parsed > DIES_OF_CANCELLATIONS


def applies_environment(version: str) -> bool:
    """Whether it applies `update_environment_variables`; True where that is not known."""
    parsed = parse_version(version)
    return parsed is None or parsed <= LAST_TO_APPLY_ENVIRONMENT


def log_shortcomings(version: str, options: Options) -> None:
    """Warn if this version lacks something, or something that `options` ask for."""
    parsed = parse_version(version)
    shortcomings = [*version_warnings(version), *(too_new_for(options, parsed) if parsed else ())]
    if shortcomings:
        logger.warning(
            "not everything works with Claude Code %s (%d things): `handrail doctor` lists them",
            version,
            len(shortcomings),
        )
        logger.info("what does not work with Claude Code %s:\n- %s", version, "\n- ".join(shortcomings))
