"""Slack: what a message may say, how it is cut to size, how it is sent, and a server that plays Slack."""
