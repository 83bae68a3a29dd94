"""Settings of a catalogue's resources, changed as AlterConfigs changes them."""

from collections.abc import Mapping

from barnabas.broker.metadata.catalogue.catalogue import Catalogue
from barnabas.broker.metadata.catalogue.config_alterations import SettingsWish


def replace_configs(catalogue: Catalogue, resource_type: int, name: str, configs: Mapping[str, str | None]) -> None:
    """Give one resource exactly these settings. KafkaError if it is not allowed."""
    (refusal,) = catalogue.change_settings([SettingsWish(resource_type, name, configs)])
    if refusal is not None:
        raise refusal
