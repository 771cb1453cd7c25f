"""The running process: the server, its scheduled jobs and the spool folders it watches."""
