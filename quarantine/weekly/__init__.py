"""The weekly quarantine-size report in every form it is read in: Markdown, chart, picture, mail."""
