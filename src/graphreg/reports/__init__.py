"""What a registration looks like: pictures and pages for people."""
