"""The agent that runs sessions on this machine for a hub elsewhere: it dials out, and needs no open port."""
