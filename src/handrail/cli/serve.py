"""`handrail serve`: the hub. Only the command line is read here; what runs it is imported when it is needed."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["serve"]

Host = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Listen on this address; by default 127.0.0.1.")]
Port = Annotated[
    int | None, typer.Option("--port", "-p", metavar="N", min=0, max=65535, help="And on this port; by default 4280.")
]
PublicUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="The address that people open: of a tunnel or a proxy.")
]
BehindProxy = Annotated[
    bool | None, typer.Option("--behind-proxy", help="A proxy in front of it speaks TLS with the world.")
]
Certificate = Annotated[str | None, typer.Option("--tls-certificate", metavar="FILE", help="Speak TLS with this.")]
Key = Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open the page.")]
Development = Annotated[
    bool, typer.Option("--development", hidden=True, help="Read the page's files anew each time; serve the playground.")
]


def serve(
    host: Host = None,
    port: Port = None,
    public_url: PublicUrl = None,
    behind_proxy: BehindProxy = None,
    tls_certificate: Certificate = None,
    tls_key: Key = None,
    no_browser: NoBrowser = False,
    development: Development = False,
) -> None:
    """Serve the hub: a page and an API for every session.

    It prints a link that lets a browser in. Sessions that are started from the page run in this process. Ctrl-C lets
    what runs finish for a while, then ends it; twice ends it at once. Nothing is lost: sessions can be resumed, and
    what was asked can still be answered.

    \b
    Examples:
      handrail serve
      handrail serve --port 8080 --no-browser
      handrail serve --behind-proxy --public-url https://box.example.net
    """
    from handrail.cli.serving.serving import start
    from handrail.cli.serving.settings import ServeSettings

    settings = ServeSettings(
        host=host,
        port=port,
        public_url=public_url,
        behind_proxy=behind_proxy,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        open_browser=False if no_browser else None,
        development=development,
    )
    raise typer.Exit(start(settings))
