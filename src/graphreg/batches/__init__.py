"""`graphreg.batch`: many registrations, on this machine or on a Dask cluster.

jobs       pairs to register, from a file or from Python
cache      preprocessed clouds on disk, by the hash of their file
affinity   the queue of jobs: which worker does which, so that few workers load a cloud
schedule   the next task of each worker
tasks      what a worker does: preprocess a cloud, register a pair
workers    processes that run tasks, and may crash or hang
executors  the process pool and the Dask cluster
store      the results, one JSON line each
batch_run  batch() itself
"""
