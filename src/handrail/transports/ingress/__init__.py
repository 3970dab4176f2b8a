"""CLIs that dial in (`--sdk-url`): a transport over whatever socket they are on, and a listener for our own ones."""
