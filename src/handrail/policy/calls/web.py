"""Rules on WebFetch: domains with wildcards, and the documentation sites that the CLI fetches unasked."""

from __future__ import annotations

import re
from functools import lru_cache

from handrail.policy.calls.base import Call, by_name, by_rule
from handrail.policy.verdict import Behavior, Verdict

__all__ = ["judge_fetch"]

_PLAIN_URL = re.compile(
    r"https?://(?:[\w.~!$&'()*+,;=:-]*@)?(?P<host>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::\d+)?(?:[/?#].*)?",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""The only URLs that rules on a domain may allow: in others, parsers find different hosts."""

_DOCUMENTATION_HOSTS = {
    "agentskills.io", "angular.io", "asp.net", "blazor.net", "bun.sh", "cloud.google.com", "code.claude.com",
    "cypress.io", "d3js.org", "dev.mysql.com", "devcenter.heroku.com", "developer.android.com", "developer.apple.com",
    "developer.mozilla.org", "doc.rust-lang.org", "docs.aws.amazon.com", "docs.djangoproject.com", "docs.flutter.dev",
    "docs.netlify.com", "docs.oracle.com", "docs.python.org", "docs.spring.io", "docs.swift.org", "docs.unity.com",
    "docs.unrealengine.com", "dotnet.microsoft.com", "en.cppreference.com", "expressjs.com", "fastapi.tiangolo.com",
    "flask.palletsprojects.com", "getbootstrap.com", "git-scm.com", "gradle.org", "graphql.org", "hibernate.org",
    "httpd.apache.org", "jestjs.io", "jquery.com", "jupyter.org", "keras.io", "kotlinlang.org", "kubernetes.io",
    "laravel.com", "learn.microsoft.com", "matplotlib.org", "maven.apache.org", "modelcontextprotocol.io",
    "nextjs.org", "nginx.org", "nodejs.org", "numpy.org", "pandas.pydata.org", "platform.claude.com", "prisma.io",
    "pytorch.org", "react.dev", "reactnative.dev", "reactrouter.com", "redis.io", "redux.js.org",
    "requests.readthedocs.io", "ruby-doc.org", "scikit-learn.org", "selenium.dev", "spark.apache.org", "symfony.com",
    "tailwindcss.com", "threejs.org", "tomcat.apache.org", "vuejs.org", "webpack.js.org", "www.ansible.com",
    "www.docker.com", "www.mongodb.com", "www.php.net", "www.postgresql.org", "www.sqlite.org", "www.tensorflow.org",
    "www.terraform.io", "www.typescriptlang.org",
}  # fmt: skip


def judge_fetch(call: Call) -> Verdict:
    """The verdict on a WebFetch call."""
    host = _host(call.text("url") or "")
    return (
        by_name(call, "deny")
        or _by_domain(call, "deny", host)
        or by_name(call, "ask")
        or _by_domain(call, "ask", host)
        or _unasked(call, host)
        or _by_domain(call, "allow", host)
        or by_name(call, "allow")
        or Verdict("ask", "no rule covers fetching from " + (host or "this address, which is not a plain URL"))
    )


def _host(url: str) -> str | None:
    """The host that every parser finds in the URL; None where they might differ."""
    plain = _PLAIN_URL.fullmatch(url)
    if plain is None:
        return None
    host = plain["host"].lower()
    looks_numeric = re.fullmatch(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)\.?", host) is not None
    return None if looks_numeric and not re.fullmatch(r"(?:[1-9]?\d{1,2}\.){3}[1-9]?\d{1,2}", host) else host


def _by_domain(call: Call, behavior: Behavior, host: str | None) -> Verdict | None:
    for rule in call.rules.of(behavior):
        if rule.tool != "WebFetch" or not (rule.spec or "").startswith("domain:"):
            continue
        domain = (rule.spec or "").removeprefix("domain:")
        if host is None and behavior != "allow":
            return Verdict("ask", f"the address is not a plain URL, so the rule {rule.text} may be about it", rule.text)
        if host is not None and _domain(domain).fullmatch(host.rstrip(".")):
            return by_rule(behavior, rule, host)
    return None


@lru_cache(maxsize=1024)
def _domain(pattern: str) -> re.Pattern[str]:
    """`*` is any host, a leading `*.` any subdomain at any depth, another `*` part of one label."""
    if pattern == "*":
        return re.compile(".*")
    subdomains, rest = (r"(?:[^.]+\.)+", pattern[2:]) if pattern.startswith("*.") else ("", pattern)
    labels = "[^.]*".join(map(re.escape, rest.split("*")))
    return re.compile(subdomains + labels, re.IGNORECASE)


def _unasked(call: Call, host: str | None) -> Verdict | None:
    if call.situation.mode == "bypassPermissions":
        return Verdict("allow", "the mode is bypassPermissions")
    if host in _DOCUMENTATION_HOSTS:
        return Verdict("allow", f"{host} is a documentation site that Claude Code fetches unasked")
    return None
