"""The first import of every Python that has this folder on its PYTHONPATH, also of the programs that tests start."""

from scripts.mutating.process import begin

begin()
