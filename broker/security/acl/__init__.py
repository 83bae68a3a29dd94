"""Authorization by access control lists, decided like Apache Kafka's StandardAuthorizer.

Pure: knows principals, operations and names, no request, no socket and no catalogue. Imported only by a broker that has
an authorizer.
"""
