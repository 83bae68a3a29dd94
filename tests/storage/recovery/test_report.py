"""What an opening says of itself."""

from barnabas.storage.recovery.report import Recovered, RecoveryReport


def test_a_report_has_each_case_once_in_the_order_of_the_alphabet() -> None:
    report = RecoveryReport()
    report.add("RA")
    report.add("")
    report.add("A")
    report.dropped(5)
    report.dropped(7, segments=1)
    report.note("something")
    assert report.recovered(9, 4) == Recovered(9, "AR", 0, 12, 1, 4, ("something",))
