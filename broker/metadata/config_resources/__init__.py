"""Resources that have settings: what the APIs over them share, and the kinds that are no topic and no broker."""
