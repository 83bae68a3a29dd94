"""The catalogue: topics, settings and features, kept in `__cluster_metadata-0` as Kafka keeps them."""

from broker.catalogue.alterations import Alteration, Operation
from broker.catalogue.catalogue import Catalogue
from broker.catalogue.features import FeatureUpdate, UpgradeType
from broker.catalogue.image import Partition, Topic
from broker.catalogue.listener import CatalogueListener
from broker.catalogue.metadata_log import CatalogueError
from broker.catalogue.topics import CreatedTopic, NewPartitions, NewTopic

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
