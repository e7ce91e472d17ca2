"""Comparison of a scan with a reference: how far its points deviate from a surface."""
