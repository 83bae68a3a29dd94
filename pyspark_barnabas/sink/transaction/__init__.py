"""The sink's transactions: those of tasks and of the driver, their ids, limits and coordinators."""
