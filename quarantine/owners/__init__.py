"""Who owns a file: CODEOWNERS as GitHub and as GitLab read it."""
