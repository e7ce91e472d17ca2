"""Point clouds to work with: synthetic scans, corruption by noise and outliers, loaders of public data sets."""
