"""The catalogue: topics, settings and features, kept in `__cluster_metadata-0` as Kafka keeps them."""

from barnabas.broker.catalogue.alterations import Alteration, Operation
from barnabas.broker.catalogue.catalogue import Catalogue
from barnabas.broker.catalogue.features import FeatureUpdate, UpgradeType
from barnabas.broker.catalogue.image import Partition, Topic
from barnabas.broker.catalogue.listener import CatalogueListener
from barnabas.broker.catalogue.metadata_log import CatalogueError
from barnabas.broker.catalogue.topics import CreatedTopic, NewPartitions, NewTopic

__all__ = [
    "Alteration",
    "Catalogue",
    "CatalogueError",
    "CatalogueListener",
    "CreatedTopic",
    "FeatureUpdate",
    "NewPartitions",
    "NewTopic",
    "Operation",
    "Partition",
    "Topic",
    "UpgradeType",
]
