"""JSON Schema, drafts 4 to 2020-12: schemas loaded and compared as Confluent's registry does."""
