"""A hub from the outside: the interface of `Manager`, spoken over HTTP and a live stream."""
