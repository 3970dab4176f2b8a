"""The hub: an HTTP API and a live stream over the sessions of this machine, and the page that uses them.

`open_hub` puts the parts together, `HubServer` serves them. Everything here is a thin front end: sessions, asks and
policies are those of `handrail.sessions`.
"""
