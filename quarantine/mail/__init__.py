"""Mail: a letter in plain text and HTML with its picture, handed to one server, one recipient at a time."""
