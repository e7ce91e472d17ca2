"""The loops that cost time, in C++ (native/). Arrays are C-contiguous; threads is at least 1."""
