"""The catalogue: topics, settings and features, stored in `__cluster_metadata-0` as Kafka stores them."""

from barnabas.broker.metadata.catalogue.catalogue import Catalogue
from barnabas.broker.metadata.catalogue.listener import CatalogueListener
from barnabas.broker.metadata.image.features import FeatureUpdate, UpgradeType
from barnabas.broker.metadata.image.image import Partition, TopicImage
from barnabas.broker.metadata.image.topic_changes import CreatedTopic, NewPartitions, NewTopic
from barnabas.broker.metadata.log.metadata_log import CatalogueError

__all__ = [
    "Catalogue",
    "CatalogueError",
    "CatalogueListener",
    "CreatedTopic",
    "FeatureUpdate",
    "NewPartitions",
    "NewTopic",
    "Partition",
    "TopicImage",
    "UpgradeType",
]
