"""The page: static files (HTML, CSS, ES modules, icons) that the hub serves as they are. There is no build step."""
