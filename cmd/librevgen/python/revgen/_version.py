__version__ = "0.0.0"  # a release's is written by cmd/internal/dist
