"""The two small tables that orders are joined with: products, and the values of currencies."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pipeline.catalogue import EURO_MILLIONTHS, PRODUCTS
from pipeline.transforms import orders


def products(spark: SparkSession) -> DataFrame:
    """Return the products: sku, category."""
    return spark.createDataFrame(list(PRODUCTS.items()), orders.PRODUCTS)


def rates(spark: SparkSession) -> DataFrame:
    """Return the rates: currency, euro_millionths."""
    return spark.createDataFrame(list(EURO_MILLIONTHS.items()), orders.RATES)
