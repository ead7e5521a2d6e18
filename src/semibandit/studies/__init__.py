"""Studies: a knob in production, tuned by many workers at once, kept in a store, served and seen.

`events` says what can happen, `stores` keep the log, `replica` lives through it, `operations` move it on,
`study` puts them together, `service` and `client` bring it over HTTP, `page` shows it.
"""
