"""What every Python imports first that has this folder on its PYTHONPATH: the programs that tests start, too."""

from scripts.mutating.process import begin

begin()
