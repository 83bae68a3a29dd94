"""The executor of the commit protocol: sockets and Arrow, no pyspark.

`task.write` runs in a Spark task, `driver.commit` and `driver.abort` where Spark commits; the code for Spark calls
only these three. The next step is never decided here: `pyspark_barnabas.commit` decides it, from what was seen.
"""
