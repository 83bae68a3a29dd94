"""The sink as Spark meets it: a stream writer, a batch writer, and a function for foreachBatch.

Here Spark's words become ours, and what could not be exact is refused; what is then done is the executor's, in `sink`.
"""
