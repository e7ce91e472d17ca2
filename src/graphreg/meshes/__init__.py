"""Triangle meshes: sampling by area, and the distance of points from them."""
