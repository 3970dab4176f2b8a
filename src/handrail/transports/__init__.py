"""How bytes travel to and from a CLI. Transports know lines only as bytes: meaning is the protocol layer's."""
