"""The HTTP edge: wire types, authentication, pages. It decides nothing; services do."""
