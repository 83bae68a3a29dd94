"""Hand-written codecs: of the two APIs that transfer the data, of two kinds of record, and of a part of Metadata.

They read and write the same bytes as the compiled codecs (a test compares them for every version), but use plain
tuples instead of message objects and do not copy records: views into the request, slices sent in the response.
"""
