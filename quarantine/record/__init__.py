"""The failure record: the few lines about a red run that whoever wrote the patch should read."""
