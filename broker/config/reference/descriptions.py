"""Descriptions of every configuration key, in a sentence or two: for DescribeConfigs and docs/config.md.

Imported only on demand. A test fails if a key in `keys.py` or `topic_configs.py` has no text here; the keys of
`ignored_keys.py` share a text for each family of names.
"""

_TEXTS = {
    # identity, listeners and directories of the node
    "node.id": "The id of this node, which clients see as the broker's id.",
    "broker.id": "The older name of node.id; if both are set they must be equal.",
    "broker.rack": "The rack of this broker, as clients see it. With serve --brokers a list: a rack for each node, in "
    "the order of their ids, or one rack for all nodes.",
    "listeners": "Where to accept connections: a list of NAME://host:port. An empty host means every interface. A "
    "change while the broker runs is stored, without effect.",
    "advertised.listeners": "The address that clients of a listener connect to, instead of the one they used.",
    "listener.security.protocol.map": "The protocol of each listener name: PLAINTEXT, SSL, SASL_PLAINTEXT or "
    "SASL_SSL. A change while the broker runs is stored, without effect.",
    "controller.listener.names": "Listeners of a Kafka controller quorum. The broker does not open them.",
    "inter.broker.listener.name": "Must be the name of a listener. The broker does not connect to other brokers.",
    "log.dir": "The data directory, if log.dirs is not set.",
    "log.dirs": "The data directories. A new partition is put in the directory with the fewest partitions.",
    "metadata.log.dir": "The directory of the metadata log, if it is not the first of log.dirs.",
    # configuration providers
    "config.providers": "The providers that resolve variables such as `${file:/path:key}` in values, at the start: "
    "names, each with a config.providers.NAME.class, which is Kafka's FileConfigProvider, DirectoryConfigProvider or "
    "EnvVarConfigProvider.",
    # TLS
    "ssl.allow.dn.changes": "Whether a key store that replaces another may have another subject.",
    "ssl.allow.san.changes": "Whether a key store that replaces another may lack a name of the old one.",
    "ssl.cipher.suites": "The cipher suites to offer, by their IANA names; empty for OpenSSL's default. TLS 1.3 is "
    "offered if all three of its suites are named, or none of them.",
    "ssl.client.auth": "Whether clients present a certificate. On SASL_SSL only the listener's own setting counts.",
    "ssl.enabled.protocols": "The TLS versions to offer: TLSv1.2 and TLSv1.3. Older versions in the list are not "
    "offered, as in current Java; the broker does not start if the list has only older versions.",
    "ssl.key.password": "The password of the private key; if it is not set, the password of the key store is used.",
    "ssl.keystore.certificate.chain": "The certificates of ssl.keystore.key in PEM, the broker's own first.",
    "ssl.keystore.key": "The private key in PEM, instead of a file.",
    "ssl.keystore.location": "The file with the private key and its certificates. It is read again when it changes.",
    "ssl.keystore.password": "The password of the key store; a PEM file has none.",
    "ssl.keystore.type": "PEM, PKCS12 or JKS. A PKCS12 file may be read as JKS and a JKS file as PKCS12, as in Java.",
    "ssl.principal.mapping.rules": "How the name in a client's certificate becomes its principal: DEFAULT, or "
    "RULE:pattern/replacement/ with an optional L or U at the end.",
    "ssl.truststore.certificates": "The certificates in PEM that verify clients' certificates, instead of a file.",
    "ssl.truststore.location": "The file with the trusted certificates. It is read again when it changes. If it is "
    "not set, the certificates that the system trusts are used.",
    "ssl.truststore.password": "The password of the trust store; a PEM file has none.",
    "ssl.truststore.type": "PEM, PKCS12 or JKS.",
    # delegation tokens
    "delegation.token.expiry.check.interval.ms": "How often expired delegation tokens are removed.",
    "delegation.token.expiry.time.ms": "How long a delegation token is valid if it is not renewed.",
    "delegation.token.max.lifetime.ms": "The longest time for which a delegation token can be valid, with all "
    "renewals.",
    "delegation.token.secret.key": "The key for the HMACs of delegation tokens. Without it delegation tokens are "
    "turned off.",
    # connections and requests
    "socket.request.max.bytes": "The largest request that the broker reads; a larger one closes its connection.",
    "queued.max.request.bytes": "How many bytes of requests may be in memory at once, over all connections, before "
    "the broker stops reading. -1 means no limit. Clients that have not authenticated yet share a separate limit of "
    "16 MiB.",
    "connections.max.idle.ms": "A connection is closed after it was idle for this time.",
    "max.connections": "How many connections may be open at once; a further one is closed at once. For a single "
    "listener (`listener.name.NAME.max.connections`): a further one waits until another is closed.",
    "max.connections.per.ip": "How many connections may be open from one address; a further one is closed at once.",
    "max.connections.per.ip.overrides": "The same limit for single addresses: `127.0.0.1:100,10.0.0.7:5`.",
    "max.connection.creation.rate": "How many connections a second are accepted by all listeners together; with the "
    "prefix `listener.name.NAME.`, by one listener. Further connections wait.",
    "fetch.max.bytes": "The most bytes of records in one response to a fetch, whatever the client requests.",
    "max.incremental.fetch.session.cache.slots": "How many incremental fetch sessions the broker remembers.",
    "max.request.partition.size.limit": "The most partitions in one page of DescribeTopicPartitions.",
    "telemetry.max.bytes": "The most bytes of metrics that a client may push at once, also after decompression.",
    "barnabas.client.telemetry.enable": "Whether clients may push their metrics (KIP-714). /metrics serves them; "
    "`kafka-client-metrics.sh` says which are wanted.",
    "barnabas.history.events.max": "How many events the history holds; `barnabas trace` shows them. There is a "
    "history only if the broker is controlled: with `--control`, or in a test.",
    "barnabas.log.dir.reserved.bytes": "The disk space of each data directory that producers leave free for all other "
    "writes; at most a twentieth of the disk. With less free space the directory is full, and producers wait.",
    # authentication
    "sasl.enabled.mechanisms": "The SASL mechanisms of listeners, in the order in which clients see them: PLAIN, "
    "SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. Kafka's default, GSSAPI, is not supported, so a SASL listener needs "
    "this key.",
    "sasl.jaas.config": "As listener.name.NAME.MECHANISM.sasl.jaas.config: the login module of a mechanism, in which "
    'PLAIN has its users (`user_alice="…"`). Without a listener and a mechanism in its name it is ignored.',
    "sasl.oauthbearer.allow.unverified.audience": "Whether signed tokens for any audience are accepted if no audience "
    "is set.",
    "sasl.oauthbearer.allow.unverified.issuer": "Whether signed tokens of any issuer are accepted if no issuer is set.",
    "sasl.oauthbearer.clock.skew.seconds": "The largest accepted difference between the clocks of the token issuer "
    "and of the broker.",
    "sasl.oauthbearer.expected.audience": "The accepted audiences of signed tokens: `aud` must contain one of these.",
    "sasl.oauthbearer.expected.issuer": "The accepted issuer of signed tokens, in `iss`.",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "How often the keys of signed tokens are fetched.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "How long a failed fetch of the keys is retried.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "The wait before the first retry of a failed fetch; each "
    "further wait is twice as long.",
    "sasl.oauthbearer.jwks.endpoint.url": "The URL of the keys of signed tokens, a JSON Web Key Set. It begins with "
    "https:, http: or file:.",
    "sasl.oauthbearer.jwt.validator.class": "Kafka's DefaultJwtValidator or BrokerJwtValidator; both do the same. The "
    "broker cannot load another class, and does not start if one is named.",
    "sasl.oauthbearer.scope.claim.name": "The claim with the scopes of a signed token. They have no effect.",
    "sasl.oauthbearer.sub.claim.name": "The claim with the user of a signed token.",
    "sasl.server.callback.handler.class": "As listener.name.NAME.oauthbearer.sasl.server.callback.handler.class: with "
    "`org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler` tokens must be signed. The "
    "broker cannot load another class, and does not start if one is named. "
    "[Tokens](security/sasl.md#tokens-of-oauthbearer)",
    "sasl.server.max.receive.size": "The largest request that the broker reads from a client that has not "
    "authenticated yet.",
    "connection.failed.authentication.delay.ms": "How long the response to a failed authentication is delayed. The "
    "broker reads nothing from the connection in this time, and then closes it.",
    "connections.max.reauth.ms": "The lifetime of a SASL session. A client must authenticate again before it ends "
    "(KIP-368), or its connection is closed at its next request. 0 means no limit. A mechanism may have its own value.",
    # quotas
    "quota.window.num": "The number of time windows in which a client's use is counted; all but one are full.",
    "quota.window.size.seconds": "The length of one of these windows; also the longest time that a client waits for a "
    "quota on requests or connections.",
    "controller.quota.window.num": "The number of windows that set the burst: how many partitions may be created or "
    "deleted at once under a quota on them.",
    "controller.quota.window.size.seconds": "The length of one of these windows.",
    # authorization
    "authorizer.class.name": "The authorizer, which decides what clients may do: none, or Kafka's "
    "`org.apache.kafka.metadata.authorizer.StandardAuthorizer`. [ACLs](security/acls.md)",
    "super.users": "With an authorizer: the principals that may do everything, each as `User:name`, separated by `;`.",
    "allow.everyone.if.no.acl.found": "With an authorizer: whether every client may use a resource without an ACL.",
    # topics
    "auto.create.topics.enable": "Whether a topic is created when a client asks for its metadata and it does not "
    "exist.",
    "errors.deadletterqueue.auto.create.topics.enable": "Whether a group's dead-letter topic is created when it is "
    "missing.",
    "errors.deadletterqueue.topic.name.prefix": "How the names of dead-letter topics must begin; empty: in any way.",
    "delete.topic.enable": "Whether topics may be deleted.",
    "num.partitions": "How many partitions a new topic gets if the request names no number.",
    "default.replication.factor": "The replication factor of a new topic if the request names none: at most the "
    "number of nodes, which is 1 without serve --brokers.",
    # defaults of topics
    "compression.type": "How batches are stored: with producer, as the producer compressed them; with any other value "
    "they are recompressed.",
    "compression.gzip.level": "The level for batches that are recompressed with gzip; -1 is the codec's default.",
    "compression.lz4.level": "The level for batches that are recompressed with lz4.",
    "compression.zstd.level": "The level for batches that are recompressed with zstd.",
    "log.cleanup.policy": "What topics inherit as cleanup.policy.",
    "log.segment.bytes": "What topics inherit as segment.bytes.",
    "log.roll.ms": "What topics inherit as segment.ms; overrides log.roll.hours.",
    "log.roll.hours": "What topics inherit as segment.ms, in hours.",
    "log.roll.jitter.ms": "What topics inherit as segment.jitter.ms; overrides log.roll.jitter.hours.",
    "log.roll.jitter.hours": "What topics inherit as segment.jitter.ms, in hours.",
    "log.index.size.max.bytes": "What topics inherit as segment.index.bytes.",
    "log.index.interval.bytes": "What topics inherit as index.interval.bytes.",
    "log.retention.bytes": "What topics inherit as retention.bytes.",
    "log.retention.ms": "What topics inherit as retention.ms; overrides log.retention.minutes and .hours.",
    "log.retention.minutes": "What topics inherit as retention.ms, in minutes; overrides log.retention.hours.",
    "log.retention.hours": "What topics inherit as retention.ms, in hours. A negative number means no limit.",
    "log.local.retention.bytes": "What topics inherit as local.retention.bytes.",
    "log.local.retention.ms": "What topics inherit as local.retention.ms.",
    "log.remote.copy.lag.bytes": "What topics inherit as remote.copy.lag.bytes.",
    "log.remote.copy.lag.ms": "What topics inherit as remote.copy.lag.ms.",
    "log.flush.interval.messages": "What topics inherit as flush.messages, also internal topics.",
    "log.flush.interval.ms": "What topics inherit as flush.ms, also internal topics.",
    "log.flush.scheduler.interval.ms": "What topics inherit as flush.ms if log.flush.interval.ms is not set.",
    "log.segment.delete.delay.ms": "What topics inherit as file.delete.delay.ms.",
    "log.preallocate": "What topics inherit as preallocate.",
    "log.message.timestamp.type": "What topics inherit as message.timestamp.type.",
    "log.message.timestamp.before.max.ms": "What topics inherit as message.timestamp.before.max.ms.",
    "log.message.timestamp.after.max.ms": "What topics inherit as message.timestamp.after.max.ms.",
    "log.cleaner.delete.retention.ms": "What topics inherit as delete.retention.ms.",
    "log.cleaner.min.compaction.lag.ms": "What topics inherit as min.compaction.lag.ms.",
    "log.cleaner.max.compaction.lag.ms": "What topics inherit as max.compaction.lag.ms.",
    "log.cleaner.min.cleanable.ratio": "What topics inherit as min.cleanable.dirty.ratio.",
    "message.max.bytes": "What topics inherit as max.message.bytes.",
    "max.decompressed.message.bytes": "The largest record, after decompression, that a producer may write in a "
    "compressed batch. Topics inherit it.",
    "min.insync.replicas": "How many replicas must have a batch before a producer with acks=all gets its response; a "
    "number above the number of replicas counts as all of them, as in Kafka.",
    "unclean.leader.election.enable": "Whether a replica that was not in sync becomes the leader when its node starts "
    "and no other replica can lead. If not, a client must request it (ElectLeaders).",
    # leaders of several nodes
    "auto.leader.rebalance.enable": "With --brokers N, whether the preferred replica of each partition becomes the "
    "leader again when its node runs. This is checked every leader.imbalance.check.interval.seconds.",
    "leader.imbalance.check.interval.seconds": "How often the broker looks for partitions whose leader is not their "
    "preferred replica.",
    # storage
    "metadata.log.max.record.bytes.between.snapshots": "How many bytes are written to the catalogue's log before a "
    "snapshot replaces it, but at most 1 MiB (or, while the broker runs, the size of the last snapshot).",
    "log.cleaner.backoff.ms": "How long the cleaner waits when no log is dirty enough.",
    "log.cleaner.dedupe.buffer.size": "The memory for the keys of all logs that are being compacted: 24 bytes a key.",
    "log.cleaner.enable": "Whether logs are compacted.",
    "log.cleaner.io.buffer.load.factor": "How full that memory may become; the next round compacts the rest.",
    "log.cleaner.io.buffer.size": "The memory of all compactions together for reading and writing.",
    "log.cleaner.io.max.bytes.per.second": "How many bytes a second the cleaner reads and writes, at most.",
    "log.cleaner.threads": "How many logs are compacted at a time, each in its own process.",
    "num.recovery.threads.per.data.dir": "How many partitions of a data directory are recovered at a time after a "
    "kill, each in its own process; all directories together at most as many as there are cores.",
    "log.retention.check.interval.ms": "How often the broker looks for segments that retention may delete.",
    "log.flush.offset.checkpoint.interval.ms": "How often recovery points are written.",
    "log.flush.start.offset.checkpoint.interval.ms": "The longest time between two writes of the log start offsets, "
    "which are also written with the high watermarks. After a kill, records that DeleteRecords deleted since the last "
    "write may appear again, as in Kafka.",
    "replica.high.watermark.checkpoint.interval.ms": "How often high watermarks are written.",
    "replica.selector.class": "With org.apache.kafka.common.replica.RackAwareReplicaSelector a consumer with a "
    "client.rack reads from a replica in that rack (KIP-392), if there are several nodes.",
    "producer.id.expiration.check.interval.ms": "How often the broker looks for producers that it may forget.",
    "producer.id.expiration.ms": "The broker forgets a producer that has written nothing for this time.",
    # transactions
    "add.partitions.to.txn.retry.backoff.max.ms": "How long a write to a new partition of a transaction waits at most "
    "for the previous transaction to complete; after that the client must retry.",
    "add.partitions.to.txn.retry.backoff.ms": "How often this is checked in that time.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often the broker looks for open transactions "
    "that are older than their producer's transaction.timeout.ms, and aborts them.",
    "transaction.max.timeout.ms": "The longest transaction.timeout.ms that a producer may request.",
    "transaction.partition.verification.enable": "Whether the first write of a transaction to a partition is checked "
    "against the coordinator, for clients that add partitions to their transactions themselves.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often the broker looks for transactional ids "
    "that it may forget.",
    "transaction.state.log.min.isr": "The min.insync.replicas with which __transaction_state is created. 1 here, "
    "where Kafka has 2: there is one replica, and a higher number has no effect.",
    "transaction.state.log.num.partitions": "How many partitions __transaction_state is created with.",
    "transaction.state.log.segment.bytes": "The segment.bytes with which __transaction_state is created.",
    "transaction.two.phase.commit.enable": "Whether a producer may take part in two-phase commits (KIP-939): its "
    "transactions never time out, and it may continue with a prepared transaction after a restart.",
    "transactional.id.expiration.ms": "The broker forgets a transactional id that was not used for this time.",
    # groups
    "group.min.session.timeout.ms": "The shortest session timeout that a group member may request.",
    "group.max.session.timeout.ms": "The longest session timeout that a group member may request.",
    "group.initial.rebalance.delay.ms": "How long an empty group waits for further members before its first "
    "generation. 0 here, where Kafka has 3000: one consumer should not wait.",
    "group.max.size": "How many members a group of the classic protocol may have.",
    "group.coordinator.rebalance.protocols": "The kinds of groups that the broker offers: without `consumer` it "
    "refuses the requests of consumer groups (KIP-848), without `streams` those of streams groups (KIP-1071). `share` "
    "has no effect.",
    "group.consumer.assignment.interval.ms": "The shortest time between two assignments of the same consumer group.",
    "group.consumer.assignors": "The server-side assignors that consumers may request; the first is the default.",
    "group.consumer.heartbeat.interval.ms": "How often members of consumer groups must send a heartbeat.",
    "group.consumer.max.size": "How many members a consumer group (KIP-848) may have.",
    "group.consumer.max.assignment.interval.ms": "The longest assignment interval that a consumer group may have.",
    "group.consumer.max.heartbeat.interval.ms": "The longest heartbeat interval that a consumer group may have.",
    "group.consumer.max.session.timeout.ms": "The longest session timeout that a consumer group may have.",
    "group.consumer.migration.policy": "How a group with members may change its protocol: from the classic one to that "
    "of consumer groups (`upgrade`), back (`downgrade`), both, or not at all (`disabled`).",
    "group.consumer.min.assignment.interval.ms": "The shortest assignment interval that a consumer group may have.",
    "group.consumer.min.heartbeat.interval.ms": "The shortest heartbeat interval that a consumer group may have.",
    "group.consumer.min.session.timeout.ms": "The shortest session timeout that a consumer group may have.",
    "group.consumer.session.timeout.ms": "A member of a consumer group is removed if it sends no heartbeat for this "
    "time.",
    "offset.metadata.max.bytes": "The longest metadata that a client may commit with an offset.",
    "offsets.commit.timeout.ms": "How long a group's request may wait, if flushing is turned on, until its change is "
    "on the disk; after that it fails with COORDINATOR_NOT_AVAILABLE.",
    "offsets.retention.minutes": "The offsets of a group without members are deleted after this time.",
    "offsets.retention.check.interval.ms": "How often the broker looks for offsets that it may delete.",
    "offsets.topic.compression.codec": "How the batches of __consumer_offsets are compressed: 0 none, 1 gzip, 2 "
    "snappy, 3 lz4, 4 zstd.",
    "offsets.topic.num.partitions": "How many partitions __consumer_offsets is created with.",
    "offsets.topic.segment.bytes": "The segment.bytes with which __consumer_offsets is created.",
    # share groups
    "group.share.assignment.interval.ms": "The shortest time between two assignments of the same share group.",
    "group.share.assignors": "The assignor of share groups (KIP-932). There is one.",
    "group.share.delivery.count.limit": "How often a record is delivered at most to a share group.",
    "group.share.heartbeat.interval.ms": "How often members of share groups must send a heartbeat.",
    "group.share.max.assignment.interval.ms": "The longest assignment interval that a share group may have.",
    "group.share.max.delivery.count.limit": "The highest delivery limit that a share group may have.",
    "group.share.max.heartbeat.interval.ms": "The longest heartbeat interval that a share group may have.",
    "group.share.max.partition.max.record.locks": "The most records that a share group may set to be in flight.",
    "group.share.max.record.lock.duration.ms": "The longest lock duration that a share group may have.",
    "group.share.max.session.timeout.ms": "The longest session timeout that a share group may have.",
    "group.share.max.share.sessions": "How many share sessions a node opens: one for each member that fetches.",
    "group.share.max.size": "How many members a share group may have.",
    "group.share.min.assignment.interval.ms": "The shortest assignment interval that a share group may have.",
    "group.share.min.delivery.count.limit": "The lowest delivery limit that a share group may have.",
    "group.share.min.heartbeat.interval.ms": "The shortest heartbeat interval that a share group may have.",
    "group.share.min.partition.max.record.locks": "The fewest records that a share group may set to be in flight.",
    "group.share.min.record.lock.duration.ms": "The shortest lock duration that a share group may have.",
    "group.share.min.session.timeout.ms": "The shortest session timeout that a share group may have.",
    "group.share.partition.max.record.locks": "How many records of a partition may be in flight in a share group, "
    "counted from the first that is not finished to the last that was acquired.",
    "group.share.record.lock.duration.ms": "How long a member has a record for itself; then it is delivered again.",
    "group.share.session.timeout.ms": "A member of a share group is removed if it sends no heartbeat for this time.",
    "share.coordinator.snapshot.update.records.per.snapshot": "How many updates of a share partition are written "
    "between two snapshots of its state.",
    "share.coordinator.state.topic.compression.codec": "How the batches of __share_group_state are compressed: 0 none, "
    "1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    "share.coordinator.state.topic.min.isr": "The min.insync.replicas with which __share_group_state is created. 1 "
    "here, where Kafka has 2: there is one replica, and a higher number has no effect.",
    "share.coordinator.state.topic.num.partitions": "How many partitions __share_group_state is created with.",
    "share.coordinator.state.topic.segment.bytes": "The segment.bytes with which __share_group_state is created.",
    "share.coordinator.write.timeout.ms": "How long a change of a share partition's state may wait for its "
    "coordinator.",
    # streams groups
    "group.streams.assignment.interval.ms": "The shortest time between two assignments of the same streams group.",
    "group.streams.assignors": "The task assignor of streams groups (KIP-1071). There is one.",
    "group.streams.heartbeat.interval.ms": "How often members of streams groups must send a heartbeat.",
    "group.streams.initial.rebalance.delay.ms": "How long an empty streams group waits for further members before its "
    "first assignment.",
    "group.streams.max.assignment.interval.ms": "The longest assignment interval that a streams group may have.",
    "group.streams.max.heartbeat.interval.ms": "The longest heartbeat interval that a streams group may have.",
    "group.streams.max.session.timeout.ms": "The longest session timeout that a streams group may have.",
    "group.streams.max.size": "How many members a streams group may have.",
    "group.streams.max.standby.replicas": "The most standby replicas that a streams group may have.",
    "group.streams.min.assignment.interval.ms": "The shortest assignment interval that a streams group may have.",
    "group.streams.min.heartbeat.interval.ms": "The shortest heartbeat interval that a streams group may have.",
    "group.streams.min.session.timeout.ms": "The shortest session timeout that a streams group may have.",
    "group.streams.num.standby.replicas": "How many standby replicas each stateful task has.",
    "group.streams.rack.aware.assignment.tags": "The client tags that the members of streams groups must have. The "
    "answer to a member without them has a status for it. As in Kafka, tasks are assigned without regard to them.",
    "group.streams.session.timeout.ms": "A member of a streams group is removed if it sends no heartbeat for this "
    "time.",
    # topics only
    "cleanup.policy": "delete removes old segments, compact retains the last record of each key; both may be set.",
    "delete.retention.ms": "How long compaction retains a tombstone, so that readers can see it.",
    "errors.deadletterqueue.group.enable": "Whether share groups may write dead letters into the topic. Without it a "
    "group's dead letters are lost.",
    "file.delete.delay.ms": "How long the files of a deleted segment stay, for readers that still use them.",
    "flush.messages": "The log is synced to the disk after this number of records. 1: before every response.",
    "flush.ms": "Written records are synced to the disk after this time.",
    "follower.replication.throttled.replicas": "Stored, without effect. There is no replication to throttle.",
    "index.interval.bytes": "How many bytes of the log there are between two entries of the offset index.",
    "leader.replication.throttled.replicas": "Stored, without effect. There is no replication to throttle.",
    "local.retention.bytes": "Stored, without effect. There is no tiered storage.",
    "local.retention.ms": "Stored, without effect. There is no tiered storage.",
    "max.compaction.lag.ms": "How long a record may wait to be compacted.",
    "max.message.bytes": "The largest batch that a producer may write, in its stored size.",
    "message.timestamp.after.max.ms": "How far a record's timestamp may be in the future.",
    "message.timestamp.before.max.ms": "How far a record's timestamp may be in the past.",
    "message.timestamp.type": "With CreateTime records have the producer's timestamps, with LogAppendTime the "
    "broker's.",
    "min.cleanable.dirty.ratio": "Which part of a log must be new before it is compacted.",
    "min.compaction.lag.ms": "How long a record stays unchanged before it may be compacted.",
    "preallocate": "Stored, without effect. Segments grow as they are written.",
    "remote.copy.lag.bytes": "Stored, without effect. There is no tiered storage.",
    "remote.copy.lag.ms": "Stored, without effect. There is no tiered storage.",
    "remote.log.copy.disable": "Stored, without effect. There is no tiered storage.",
    "remote.log.delete.on.disable": "Stored, without effect. There is no tiered storage.",
    "remote.storage.enable": "Must be false: there is no tiered storage.",
    "retention.bytes": "A partition's oldest segments are deleted above this size. -1 means no limit.",
    "retention.ms": "Segments whose newest record is older than this are deleted. -1 means no limit.",
    "segment.bytes": "How large a segment may grow before the next one begins.",
    "segment.index.bytes": "How large a segment's indexes may grow before the next segment begins.",
    "segment.jitter.ms": "segment.ms is shortened by a random time up to this, so that segments do not roll together.",
    "segment.ms": "How old a segment may grow before the next one begins.",
}

_OF_OTHERS = {
    # groups
    "consumer.session.timeout.ms": "A member of a consumer group is removed if it sends no heartbeat for this time.",
    "consumer.heartbeat.interval.ms": "How often a member of a consumer group must send a heartbeat.",
    "consumer.assignment.interval.ms": "The shortest time between two assignments of a consumer group.",
    "consumer.assignor.offload.enable": "Known, without effect: Assignments are made in slices of the event loop.",
    "errors.deadletterqueue.topic.name": "The topic for records that a share group rejected, or did not process after "
    "the last delivery. Empty: there is none.",
    "errors.deadletterqueue.copy.record.enable": "Whether dead letters have the keys and values of their records.",
    "share.assignment.interval.ms": "The shortest time between two assignments of a share group.",
    "share.assignor.offload.enable": "Known, without effect: Assignments are made in slices of the event loop.",
    "share.auto.offset.reset": "Where a share group begins in a partition: latest, earliest, or by_duration:DURATION, "
    "such as by_duration:PT1H for the records of the last hour.",
    "share.delivery.count.limit": "How often a record is delivered at most.",
    "share.heartbeat.interval.ms": "How often a member of a share group must send a heartbeat.",
    "share.isolation.level": "Whether records of open and aborted transactions are delivered (read_uncommitted) or not "
    "(read_committed).",
    "share.partition.max.record.locks": "How many records of a partition may be in flight.",
    "share.record.lock.duration.ms": "How long a member has a record for itself; then it is delivered again.",
    "share.renew.acknowledge.enable": "Whether a member may renew the lock of a record.",
    "share.session.timeout.ms": "A member of a share group is removed if it sends no heartbeat for this time.",
    "streams.acceptable.recovery.lag": "The lag that members of a streams group are given as acceptable for a task.",
    "streams.assignment.interval.ms": "The shortest time between two assignments of a streams group.",
    "streams.assignor.name": "The task assignor of a streams group.",
    "streams.assignor.offload.enable": "Known, without effect: Assignments are made in slices of the event loop.",
    "streams.heartbeat.interval.ms": "How often a member of a streams group must send a heartbeat.",
    "streams.initial.rebalance.delay.ms": "How long an empty streams group waits before its first assignment.",
    "streams.num.standby.replicas": "How many standby replicas each stateful task has.",
    "streams.rack.aware.assignment.tags": "The client tags that the members must have.",
    "streams.session.timeout.ms": "A member of a streams group is removed if it sends no heartbeat for this time.",
    "streams.task.offset.interval.ms": "How often members of a streams group report the offsets of their tasks.",
    # client metrics
    "interval.ms": "How often clients push their metrics: 100 to 3600000.",
    "match": "Which clients push metrics: a list of ATTRIBUTE=PATTERN, which must all match. An empty list means "
    "every client.",
    "metrics": "Which metrics clients push: a list of prefixes of their names. * means all.",
}

_REPLICAS_OF_COORDINATORS = "One node has one replica. With --brokers N it counts."

# Why a key of Apache Kafka has no effect here, by the beginning of its name; the first match wins.
_WITHOUT_EFFECT = (
    ("ssl.protocol", "ssl.enabled.protocols sets the versions."),
    ("ssl.endpoint.", "Clients check the host name, and this broker is not a client."),
    ("ssl.secure.random.", "Random numbers come from the operating system."),
    ("ssl.", "Only Java has it, not OpenSSL. On a TLS listener the broker does not start with a class or a provider."),
    ("principal.builder.", "The broker cannot load classes, and does not start with another one."),
    ("security.providers", "The broker cannot load classes, and does not start with one."),
    ("sasl.kerberos.", "GSSAPI (Kerberos) is not supported: a listener that requires it stops the start."),
    ("sasl.", "It is for connections to other brokers, which this broker does not open."),
    ("client.quota.", "The broker cannot load a class for quotas, and does not start with one."),
    ("create.topic.policy.", "The broker cannot load policy classes, and does not start with one."),
    ("alter.config.policy.", "The broker cannot load policy classes, and does not start with one."),
    ("controller.", "There is no separate controller quorum."),
    ("offsets.load.", "Offsets are loaded in slices of 64 KiB."),
    ("offsets.topic.replication.", _REPLICAS_OF_COORDINATORS),
    ("remote.", "There is no tiered storage."),
    ("replica.alter.log.dirs", "Moves between data directories are not throttled."),
    ("alter.log.dirs.", "Moves between data directories are not throttled."),
    ("num.replica.alter.log.dirs", "One partition is moved at a time."),
    ("follower.", "There is one replica: nothing is copied."),
    ("replica", "There is one replica: nothing is copied."),
    ("transaction.state.log.load.", "Transactions are loaded in slices of 64 KiB."),
    ("transaction.state.log.replication.", _REPLICAS_OF_COORDINATORS),
    ("streams.num.warmup.", "Tasks have no warm-up replicas; Kafka assigns none either."),
    ("leader.replication.throttled", "There is one replica: nothing is copied."),
    ("group.streams.topology.", "The broker cannot load classes, and does not start with one."),
    ("share.coordinator.state.topic.replication.", _REPLICAS_OF_COORDINATORS),
    ("share.coordinator.load.", "States are loaded in slices of 64 KiB."),
    ("share.coordinator.", "The coordinator runs on the event loop, and writes at once."),
    ("share.fetch.purgatory.", "Requests that have ended leave the purgatory at once."),
    ("metadata.", "The catalogue's log has no such setting here."),
    ("unstable.", "All supported versions are offered."),
    ("metric", "Metrics are offered over HTTP, at /metrics."),
    ("kafka.metrics.", "Metrics are offered over HTTP, at /metrics."),
)
_NO_SUCH_PART = "This broker does not have the part of Apache Kafka that it configures."


def documentation(name: str) -> str | None:
    """Return the text of a key; None for an unknown key."""
    from barnabas.broker.config.definitions.ignored_keys import ACCEPTED, THROTTLED_RATES
    from barnabas.broker.config.resources.group_configs import GROUP_KEYS

    if name in _OF_OTHERS:
        return _OF_OTHERS[name]
    if name not in ACCEPTED and name not in GROUP_KEYS and name not in THROTTLED_RATES:
        return _TEXTS.get(name)
    return f"Known, without effect: {why_without_effect(name)}"


def why_without_effect(name: str) -> str:
    """Return why one of Kafka's keys has no effect here."""
    return next((why for prefix, why in _WITHOUT_EFFECT if name.startswith(prefix)), _NO_SUCH_PART)
