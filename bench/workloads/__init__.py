"""What is measured on running brokers, a module for each kind of load; `table.py` lists W1 to W11 and G1 to G6."""
