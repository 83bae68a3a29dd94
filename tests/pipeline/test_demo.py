"""The demo's plan of kills, and how it finds whom to kill."""

from pipeline.demo.kills import Victim, plan
from pipeline.demo.processes import find_workers, port_of

LISTING = """\
  100     1 python -m pipeline.demo.driver --directory /tmp/x
  101   100 java -cp jars org.apache.spark.deploy.SparkSubmit pyspark-shell
  110   101 python -m pyspark.daemon pyspark.worker
  111   110 python -m pyspark.daemon pyspark.worker
  112   110 python -m pyspark.daemon pyspark.worker
  200     1 python -m pipeline.demo.driver --directory /tmp/y
  201   200 java -cp jars org.apache.spark.deploy.SparkSubmit pyspark-shell
  210   201 python -m pyspark.daemon pyspark.worker
  211   210 python -m pyspark.daemon pyspark.worker
  300     1
"""


def test_a_seed_gives_the_same_plan_again() -> None:
    assert plan(7, 60, 6) == plan(7, 60, 6)
    assert plan(7, 60, 6) != plan(8, 60, 6)


def test_kills_come_in_their_order_within_the_time_and_hit_everybody() -> None:
    for seed in range(50):
        kills = plan(seed, 60, 6)
        times = [kill.at_s for kill in kills]
        assert times == sorted(times)
        assert times[0] > 0
        assert times[-1] < 60
        assert {kill.victim for kill in kills[:3]} == {kill.victim for kill in kills[3:]} == set(Victim)
    assert plan(1, 60, 0) == []


def test_only_the_drivers_own_workers_are_found() -> None:
    assert find_workers(LISTING, 100) == [111, 112]
    assert find_workers(LISTING, 200) == [211]
    assert find_workers(LISTING, 999) == []


def test_the_port_is_read_from_the_ready_line() -> None:
    assert port_of("barnabas ready 127.0.0.1:40123 data=/tmp/d") == 40123
