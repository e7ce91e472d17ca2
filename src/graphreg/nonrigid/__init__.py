"""Deformable registration: the elastic method on the graph of the source, and coherent point drift."""
