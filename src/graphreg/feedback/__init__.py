"""What the library says while it works, and of its results: progress, a few lines of text, HTML in notebooks."""
