"""Point clouds to work with: scans that we make ourselves, and loaders for the public data sets."""
