"""What the site has from the package itself: names, commands, the HTTP interface; docstrings as they are."""
