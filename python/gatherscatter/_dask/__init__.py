"""The distributed engine: gathers and scatters of Dask collections as graphs of tasks that run our operators."""
