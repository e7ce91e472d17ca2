"""graphreg registers 3D point clouds: two scans go in, the rigid motion between them comes out."""

from graphreg.errors import FileError, InputError, MissingExtraError

__version__ = "0.1.0"

__all__ = ["FileError", "InputError", "MissingExtraError"]
