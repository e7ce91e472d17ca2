"""What `graphreg.batch` is made of, in the order of a job's way.

jobs     what is to be done, from a file or from Python
cache    clouds that were read and prepared, kept on disk by their content
routes   which job is whose, so that few workers load a cloud
plan     what is to be done next
tasks    what a worker does: prepare a cloud, register a pair
workers  processes that do tasks, one at a time, and may die or hang
crews    many of these: on this machine, or on a Dask cluster
store    results, a line each
"""
