"""Hand-specialised codecs of the two APIs that carry the data.

They read and write the same bytes as the compiled codecs (a test holds them equal for every version), but give plain
tuples instead of message objects and leave records where they lie: views into the request, slices to be sent into the
response.
"""
