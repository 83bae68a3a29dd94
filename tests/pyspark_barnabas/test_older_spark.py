"""What is said, or done another way, where a release of Spark offers less to Python. pyspark is played here."""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

OF_4_0 = (
    *("DataSource", "DataSourceReader", "DataSourceStreamReader", "InputPartition", "DataSourceArrowWriter"),
    *("DataSourceStreamWriter", "WriterCommitMessage"),
)


@pytest.fixture
def pyspark(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A pyspark of 3.5, without data sources; ours are imported anew on it, and forgotten afterwards."""
    import_module("pyspark_barnabas")  # which looks at the pyspark that is there
    for name in ("pyspark", "pyspark.sql"):
        package = ModuleType(name)
        package.__path__ = []
        monkeypatch.setitem(sys.modules, name, package)
    ours = [f"pyspark_barnabas.{name}" for name in ("data_source", "spark_sink.stream_writer", "spark_sink.messages")]
    for name in (*ours, "pyspark.sql.datasource"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield sys.modules["pyspark.sql"]
    for name in ours:
        sys.modules.pop(name, None)


@pytest.fixture
def of_4_0(pyspark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The data sources of 4.0."""
    datasource = ModuleType("pyspark.sql.datasource")
    for name in OF_4_0:
        setattr(datasource, name, type(name, (), {}))
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", datasource)
    return datasource


@pytest.mark.usefixtures("pyspark")
def test_spark_3_5_has_no_data_sources_and_is_told_what_works() -> None:
    with pytest.raises(ImportError, match=r"Spark 3\.5 has no Python data sources.*exactly_once in foreachBatch"):
        import_module("pyspark_barnabas.data_source")


def test_on_spark_4_0_a_streams_writer_is_an_arrow_writer_of_both_kinds(of_4_0: ModuleType) -> None:
    writer = import_module("pyspark_barnabas.spark_sink.stream_writer").StreamWriter
    assert issubclass(writer, of_4_0.DataSourceStreamWriter)
    assert issubclass(writer, of_4_0.DataSourceArrowWriter)
