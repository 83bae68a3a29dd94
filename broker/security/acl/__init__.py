"""Who may do what to which resource: access control lists, decided as Apache Kafka's StandardAuthorizer decides.

Pure: knows principals, operations and names, no request, no socket and no catalogue. Imported only by a broker that has
an authorizer.
"""
