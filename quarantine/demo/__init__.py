"""The demo: a small real project, its suite really run over six weeks of commits, and what the daemon makes of it."""
