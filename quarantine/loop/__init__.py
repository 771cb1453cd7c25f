"""The reference harness: an agent proposes a patch, the harness runs the tests, and the daemon judges."""
