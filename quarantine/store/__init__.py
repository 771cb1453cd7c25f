"""Tables, engines and the queries on them: the only room that knows SQL."""
