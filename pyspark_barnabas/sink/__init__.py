"""The executor of the commit protocol: sockets and Arrow, no pyspark.

`task.write` runs in a Spark task, `driver.commit` and `driver.abort` where Spark commits; Spark's faces call these
three and nothing else. What to do next is never decided here: `pyspark_barnabas.commit` says it, from what was seen.
"""
