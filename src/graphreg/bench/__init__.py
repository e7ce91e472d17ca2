"""The paper's experiments: one file each, with `jobs`, `measure` and `summary`; `tables` writes what they find."""
