"""Descriptions of every configuration key, in a sentence or two: for DescribeConfigs and docs/config.md.

Imported only on demand. A test fails if a key in `keys.py` or `topic_configs.py` has no text here; the keys of
`accepted.py` share a text for each family of names.
"""

_TEXTS = {
    # identity, listeners and directories of the node
    "node.id": "The id of this node, which clients see as the broker's id.",
    "broker.id": "The older name of node.id; if both are set they must agree.",
    "broker.rack": "The rack of this broker, as clients see it. With serve --brokers a list: a rack for each node, in "
    "the order of their ids, or one for all.",
    "listeners": "Where to accept connections: NAME://host:port, in a list. An empty host is every interface. What is "
    "changed while running is stored, and not acted on.",
    "advertised.listeners": "The address that clients of a listener connect to, instead of the one they used.",
    "listener.security.protocol.map": "Which protocol a listener's name stands for: PLAINTEXT, SSL, "
    "SASL_PLAINTEXT or SASL_SSL. What is changed while running is stored, and not acted on.",
    "controller.listener.names": "Listeners of a Kafka controller quorum. They are not opened here.",
    "inter.broker.listener.name": "Must be the name of a listener. There is no other broker to talk to through it.",
    "log.dir": "The data directory, if log.dirs is not set.",
    "log.dirs": "The data directories. A new partition is put in the one that has the fewest.",
    "metadata.log.dir": "The directory of the metadata log, if it is not the first of log.dirs.",
    # configuration providers
    "config.providers": "Who resolves variables such as `${file:/path:key}` in values, at the start: names, each with "
    "a config.providers.NAME.class, which is Kafka's FileConfigProvider, DirectoryConfigProvider or "
    "EnvVarConfigProvider.",
    # TLS
    "ssl.allow.dn.changes": "Whether a key store that is put in the place of another may have another subject.",
    "ssl.allow.san.changes": "Whether a key store that is put in the place of another may lack a name of the old one.",
    "ssl.cipher.suites": "The suites that are offered, under IANA's names; empty for OpenSSL's. TLS 1.3 is spoken "
    "where all three of its suites are named, or none are.",
    "ssl.client.auth": "Whether clients show a certificate. On SASL_SSL only a listener's own setting counts.",
    "ssl.enabled.protocols": "The versions that are spoken, TLSv1.2 and TLSv1.3. Older ones beside them are "
    "not spoken, as by today's Java; alone they refuse to start.",
    "ssl.key.password": "The password of the private key; without one that of the key store.",
    "ssl.keystore.certificate.chain": "The certificates of ssl.keystore.key in PEM, the broker's own first.",
    "ssl.keystore.key": "The private key in PEM, in place of a file.",
    "ssl.keystore.location": "The file with the private key and its certificates. It is read again when it changes.",
    "ssl.keystore.password": "The password of the key store; PEM has none.",
    "ssl.keystore.type": "PEM, PKCS12 or JKS. PKCS12 and JKS stand for each other, as in Java.",
    "ssl.principal.mapping.rules": "From the name in a client's certificate to its principal: DEFAULT, "
    "RULE:pattern/replacement/, with L or U at its end.",
    "ssl.truststore.certificates": "The certificates in PEM by which clients' are trusted, in place of a file.",
    "ssl.truststore.location": "The file with them. It is read again when it changes. Without one it is those that "
    "the machine trusts.",
    "ssl.truststore.password": "The password of the trust store; PEM has none.",
    "ssl.truststore.type": "PEM, PKCS12 or JKS.",
    # delegation tokens
    "delegation.token.expiry.check.interval.ms": "How often delegation tokens that have expired are removed.",
    "delegation.token.expiry.time.ms": "How long a delegation token is good unless it is renewed.",
    "delegation.token.max.lifetime.ms": "How long a delegation token can live, however often it is renewed.",
    "delegation.token.secret.key": "What the HMACs of delegation tokens are computed with. Without it there are no "
    "tokens.",
    # connections and requests
    "socket.request.max.bytes": "The largest request that is read; a larger one closes its connection.",
    "queued.max.request.bytes": "How many bytes of requests may be in memory at once, over all connections, before "
    "the broker stops reading from them. -1 is no limit. Clients that have yet to authenticate have 16 MiB of their "
    "own.",
    "connections.max.idle.ms": "A connection that was silent for so long is closed.",
    "max.connections": "How many connections may be open at once; a further one is closed at once. Of one listener "
    "(`listener.name.NAME.max.connections`): a further one waits until another is closed.",
    "max.connections.per.ip": "How many connections there may be from one address; a further one is closed at once.",
    "max.connections.per.ip.overrides": "The same for single addresses: `127.0.0.1:100,10.0.0.7:5`.",
    "max.connection.creation.rate": "How many connections a second are let in, by all listeners together; with "
    "`listener.name.NAME.` before it, by one. The others wait.",
    "fetch.max.bytes": "The most bytes of records one answer to a fetch carries, whatever the client asks for.",
    "max.incremental.fetch.session.cache.slots": "How many incremental fetch sessions are remembered.",
    "max.request.partition.size.limit": "The most partitions in one page of DescribeTopicPartitions.",
    "telemetry.max.bytes": "The most bytes of metrics that a client pushes at once, also once they are decompressed.",
    "barnabas.client.telemetry.enable": "Whether clients may push their metrics (KIP-714). /metrics serves them; "
    "`kafka-client-metrics.sh` says which are wanted.",
    "barnabas.history.events.max": "How many events the history keeps, from which `barnabas trace` tells what happened "
    "last. There is one only where the broker is controlled: with `--control`, or in a test.",
    "barnabas.log.dir.reserved.bytes": "What producers leave free on the disk of each data directory, for all else "
    "that has to be written; at most a twentieth of the disk. With less free the directory is full: producers wait.",
    # authentication
    "sasl.enabled.mechanisms": "The SASL mechanisms of listeners, in the order in which clients are told: PLAIN, "
    "SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. Kafka's default, GSSAPI, is not served: such a listener needs this.",
    "sasl.jaas.config": "As listener.name.NAME.MECHANISM.sasl.jaas.config: the login module of a mechanism, in which "
    'PLAIN has its users (`user_alice="…"`). Without a listener and a mechanism in its name it is ignored.',
    "sasl.oauthbearer.allow.unverified.audience": "Whether signed tokens for any audience are taken where none is set.",
    "sasl.oauthbearer.allow.unverified.issuer": "Whether signed tokens of any issuer are taken where none is set.",
    "sasl.oauthbearer.clock.skew.seconds": "How far the clock of who signs tokens may be from the broker's.",
    "sasl.oauthbearer.expected.audience": "Whom signed tokens are for, in `aud`: one of these.",
    "sasl.oauthbearer.expected.issuer": "Who makes signed tokens, in `iss`.",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "How often the keys of signed tokens are asked for.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "How long that is tried again after a failure.",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "How long after the first failure it is tried again; then twice "
    "as long each time.",
    "sasl.oauthbearer.jwks.endpoint.url": "Where the keys of signed tokens are, a JSON Web Key Set: a URL that begins "
    "with https:, http: or file:.",
    "sasl.oauthbearer.jwt.validator.class": "Kafka's DefaultJwtValidator or BrokerJwtValidator; both do the same. "
    "Another class cannot be loaded: naming one refuses to start.",
    "sasl.oauthbearer.scope.claim.name": "The claim that has the scopes of a signed token. Nothing depends on them.",
    "sasl.oauthbearer.sub.claim.name": "The claim that says whom a signed token is for.",
    "sasl.server.callback.handler.class": "As listener.name.NAME.oauthbearer.sasl.server.callback.handler.class: with "
    "`org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler` tokens have to be signed. "
    "Another class cannot be loaded: naming one refuses to start. [Tokens](security/sasl.md#tokens-of-oauthbearer)",
    "sasl.server.max.receive.size": "The largest request that is read of a client that has not authenticated yet.",
    "connection.failed.authentication.delay.ms": "How long the answer to a failed authentication is held back. Nothing "
    "is read of the connection meanwhile, and then it is closed.",
    "connections.max.reauth.ms": "How long a session of SASL lives; a client authenticates again before (KIP-368), or "
    "its connection is closed at its next request. 0 is for ever. A mechanism may have its own.",
    # quotas
    "quota.window.num": "How many windows of time a client's use is counted in: all but one are full.",
    "quota.window.size.seconds": "How long one of these windows is; also the longest time that a client waits for a "
    "quota on requests or connections.",
    "controller.quota.window.num": "How many windows make the burst of partitions that may be created or deleted at "
    "once under a quota on them.",
    "controller.quota.window.size.seconds": "How long one of these windows is.",
    # authorization
    "authorizer.class.name": "Who decides what clients may do: nobody, or Kafka's "
    "`org.apache.kafka.metadata.authorizer.StandardAuthorizer`. [ACLs](security/acls.md)",
    "super.users": "With an authorizer: who may do everything, as `User:name`, with `;` in between.",
    "allow.everyone.if.no.acl.found": "With an authorizer: whether everybody may use what no ACL is about.",
    # topics
    "auto.create.topics.enable": "Whether a topic that a client asks about, and that is missing, is created.",
    "delete.topic.enable": "Whether topics may be deleted.",
    "num.partitions": "How many partitions a topic gets whose creator names no number.",
    "default.replication.factor": "The replication factor of a topic whose creator names none: at most the number "
    "of nodes, which is 1 without serve --brokers.",
    # defaults of topics
    "compression.type": "How batches are stored: producer keeps what the producer chose, any other word recompresses.",
    "compression.gzip.level": "The level used where batches are compressed again with gzip; -1 is the codec's own.",
    "compression.lz4.level": "The level used where batches are compressed again with lz4.",
    "compression.zstd.level": "The level used where batches are compressed again with zstd.",
    "log.cleanup.policy": "What topics inherit as cleanup.policy.",
    "log.segment.bytes": "What topics inherit as segment.bytes.",
    "log.roll.ms": "What topics inherit as segment.ms; comes before log.roll.hours.",
    "log.roll.hours": "What topics inherit as segment.ms, in hours.",
    "log.roll.jitter.ms": "What topics inherit as segment.jitter.ms; comes before log.roll.jitter.hours.",
    "log.roll.jitter.hours": "What topics inherit as segment.jitter.ms, in hours.",
    "log.index.size.max.bytes": "What topics inherit as segment.index.bytes.",
    "log.index.interval.bytes": "What topics inherit as index.interval.bytes.",
    "log.retention.bytes": "What topics inherit as retention.bytes.",
    "log.retention.ms": "What topics inherit as retention.ms; comes before log.retention.minutes and .hours.",
    "log.retention.minutes": "What topics inherit as retention.ms, in minutes; comes before log.retention.hours.",
    "log.retention.hours": "What topics inherit as retention.ms, in hours. A negative number is for ever.",
    "log.local.retention.bytes": "What topics inherit as local.retention.bytes.",
    "log.local.retention.ms": "What topics inherit as local.retention.ms.",
    "log.remote.copy.lag.bytes": "What topics inherit as remote.copy.lag.bytes.",
    "log.remote.copy.lag.ms": "What topics inherit as remote.copy.lag.ms.",
    "log.flush.interval.messages": "What topics inherit as flush.messages; internal topics too.",
    "log.flush.interval.ms": "What topics inherit as flush.ms; internal topics too.",
    "log.flush.scheduler.interval.ms": "What topics inherit as flush.ms where log.flush.interval.ms is not set.",
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
    "max.decompressed.message.bytes": "The largest record a producer may write in a compressed batch, once that is "
    "decompressed. Topics inherit it.",
    "min.insync.replicas": "How many replicas must hold a batch before a producer with acks=all is answered; more than "
    "there are count as all of them, as in Kafka.",
    "unclean.leader.election.enable": "Whether a replica that was not in sync leads when its node starts "
    "and nobody else can. Else it has to be asked for (ElectLeaders).",
    # leaders of several nodes
    "auto.leader.rebalance.enable": "With --brokers N, whether the preferred replica of each partition leads again "
    "once its node runs. It is looked for every leader.imbalance.check.interval.seconds.",
    "leader.imbalance.check.interval.seconds": "How often partitions are looked at that another leads than their "
    "preferred replica.",
    # storage
    "metadata.log.max.record.bytes.between.snapshots": "A snapshot replaces the catalogue's log when so much was "
    "written since the last one, but at most 1 MiB (or, while the broker runs, the size of that one).",
    "log.cleaner.backoff.ms": "How long the cleaner waits when no log is dirty enough.",
    "log.cleaner.dedupe.buffer.size": "Memory for the keys of all logs that are being compacted: 24 bytes a key.",
    "log.cleaner.enable": "Whether logs are compacted.",
    "log.cleaner.io.buffer.load.factor": "How full that memory may become; the next round does what does not fit.",
    "log.cleaner.io.buffer.size": "Memory for reading and writing, of all together.",
    "log.cleaner.io.max.bytes.per.second": "How much the cleaner reads and writes, at most.",
    "log.cleaner.threads": "How many logs are compacted at a time, each in a process of its own.",
    "num.recovery.threads.per.data.dir": "How many partitions of a data directory are recovered at a time after a "
    "kill, each in a process; in all as many as there are cores.",
    "log.retention.check.interval.ms": "How often segments are looked at that retention may delete.",
    "log.flush.offset.checkpoint.interval.ms": "How often recovery points are written.",
    "log.flush.start.offset.checkpoint.interval.ms": "How often log start offsets are written, at the latest: they are "
    "written with the high watermarks, too. After a kill, records that DeleteRecords deleted since may be there again, "
    "as in Kafka.",
    "replica.high.watermark.checkpoint.interval.ms": "How often high watermarks are written.",
    "replica.selector.class": "With org.apache.kafka.common.replica.RackAwareReplicaSelector a consumer that says its "
    "client.rack reads from a replica in that rack (KIP-392), of several nodes.",
    "producer.id.expiration.check.interval.ms": "How often producers are looked at that may be forgotten.",
    "producer.id.expiration.ms": "A producer that wrote nothing for so long is forgotten.",
    # transactions
    "add.partitions.to.txn.retry.backoff.max.ms": "How long a write to a new partition of a transaction waits at most "
    "for the transaction before it to be complete, before its client has to try again.",
    "add.partitions.to.txn.retry.backoff.ms": "How often it is looked meanwhile.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often open transactions are looked at that may "
    "have taken longer than their producer's transaction.timeout.ms, and are aborted then.",
    "transaction.max.timeout.ms": "The longest transaction.timeout.ms a producer may ask for.",
    "transaction.partition.verification.enable": "Whether a write of a client that adds partitions to its transactions "
    "itself is checked against the coordinator before the transaction begins on a partition.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often transactional ids are looked at that may "
    "be forgotten.",
    "transaction.state.log.min.isr": "The min.insync.replicas __transaction_state is created with. 1 here, where Kafka "
    "has 2: there is one replica, and more do not count.",
    "transaction.state.log.num.partitions": "How many partitions __transaction_state is created with.",
    "transaction.state.log.segment.bytes": "The segment.bytes __transaction_state is created with.",
    "transaction.two.phase.commit.enable": "Whether a producer may take part in two-phase commits (KIP-939): its "
    "transactions never time out, and it may keep a prepared one when it comes back.",
    "transactional.id.expiration.ms": "A transactional id nobody used for so long is forgotten.",
    # groups
    "group.min.session.timeout.ms": "The shortest session timeout a group member may ask for.",
    "group.max.session.timeout.ms": "The longest session timeout a group member may ask for.",
    "group.initial.rebalance.delay.ms": "How long an empty group waits for further members before its first "
    "generation. 0 here, where Kafka has 3000: one consumer should not wait.",
    "group.max.size": "How many members a group of the classic protocol may have.",
    "group.coordinator.rebalance.protocols": "Which kinds of groups there are: without `consumer` there are none of "
    "KIP-848, and their requests are refused. `streams` and `share` change nothing.",
    "group.consumer.assignment.interval.ms": "How long after one assignment the next of the same consumer group is "
    "made, at the earliest.",
    "group.consumer.assignors": "The server-side assignors that consumers may ask for; the first is the default.",
    "group.consumer.heartbeat.interval.ms": "How often members of consumer groups are told to send a heartbeat.",
    "group.consumer.max.size": "How many members a consumer group (KIP-848) may have.",
    "group.consumer.max.assignment.interval.ms": "The longest assignment interval a consumer group may be set to.",
    "group.consumer.max.heartbeat.interval.ms": "The longest heartbeat interval a consumer group may be set to.",
    "group.consumer.max.session.timeout.ms": "The longest session timeout a consumer group may be set to.",
    "group.consumer.migration.policy": "How a group with members may change its protocol: from the classic one to that "
    "of consumer groups (`upgrade`), back (`downgrade`), both, or not at all (`disabled`).",
    "group.consumer.min.assignment.interval.ms": "The shortest assignment interval a consumer group may be set to.",
    "group.consumer.min.heartbeat.interval.ms": "The shortest heartbeat interval a consumer group may be set to.",
    "group.consumer.min.session.timeout.ms": "The shortest session timeout a consumer group may be set to.",
    "group.consumer.session.timeout.ms": "How long a member of a consumer group may be silent.",
    "offset.metadata.max.bytes": "The longest metadata a client may commit with an offset.",
    "offsets.commit.timeout.ms": "How long a group's request may wait until what it changed is on the disk, where "
    "flushing is on; COORDINATOR_NOT_AVAILABLE after that.",
    "offsets.retention.minutes": "Offsets of a group without members are forgotten after so long.",
    "offsets.retention.check.interval.ms": "How often offsets are looked at that may be forgotten.",
    "offsets.topic.compression.codec": "How the batches of __consumer_offsets are compressed: 0 not at all, 1 gzip, "
    "2 snappy, 3 lz4, 4 zstd.",
    "offsets.topic.num.partitions": "How many partitions __consumer_offsets is created with.",
    "offsets.topic.segment.bytes": "The segment.bytes __consumer_offsets is created with.",
    # topics only
    "cleanup.policy": "delete drops old segments, compact keeps the last record of each key; both may be given.",
    "delete.retention.ms": "How long compaction keeps a tombstone, so that readers can see it.",
    "errors.deadletterqueue.group.enable": "Kept as it is set. There are no share groups.",
    "file.delete.delay.ms": "How long the files of a deleted segment stay, for readers that still hold them.",
    "flush.messages": "After so many records the log is synced to the disk. 1: before every answer.",
    "flush.ms": "After so long records that were written are synced to the disk.",
    "follower.replication.throttled.replicas": "Kept as it is set. There is no replication to throttle.",
    "index.interval.bytes": "How many bytes of log one entry of the offset index stands for.",
    "leader.replication.throttled.replicas": "Kept as it is set. There is no replication to throttle.",
    "local.retention.bytes": "Kept as it is set. There is no tiered storage.",
    "local.retention.ms": "Kept as it is set. There is no tiered storage.",
    "max.compaction.lag.ms": "How long a record may wait to be compacted.",
    "max.message.bytes": "The largest batch a producer may write, as it is stored.",
    "message.timestamp.after.max.ms": "How far in the future a record's timestamp may lie.",
    "message.timestamp.before.max.ms": "How far in the past a record's timestamp may lie.",
    "message.timestamp.type": "CreateTime keeps the producer's timestamps, LogAppendTime sets the broker's.",
    "min.cleanable.dirty.ratio": "How much of a log must be new before it is compacted.",
    "min.compaction.lag.ms": "How long a record stays as it was written before it may be compacted.",
    "preallocate": "Kept as it is set. Segments grow as they are written.",
    "remote.copy.lag.bytes": "Kept as it is set. There is no tiered storage.",
    "remote.copy.lag.ms": "Kept as it is set. There is no tiered storage.",
    "remote.log.copy.disable": "Kept as it is set. There is no tiered storage.",
    "remote.log.delete.on.disable": "Kept as it is set. There is no tiered storage.",
    "remote.storage.enable": "Must be false: there is no tiered storage.",
    "retention.bytes": "Above so many bytes a partition's oldest segments are deleted. -1 is no limit.",
    "retention.ms": "Segments whose newest record is older are deleted. -1 is for ever.",
    "segment.bytes": "How large a segment may grow before the next one begins.",
    "segment.index.bytes": "How large a segment's indexes may grow before the next segment begins.",
    "segment.jitter.ms": "Up to so much is taken off segment.ms, at random, so that segments do not roll together.",
    "segment.ms": "How old a segment may grow before the next one begins.",
}

_OF_OTHERS = {
    # groups
    "consumer.session.timeout.ms": "How long a member of a consumer group may be silent before it is taken out.",
    "consumer.heartbeat.interval.ms": "How often a member of a consumer group is to send its heartbeat.",
    "consumer.assignment.interval.ms": "How much time there is at least between two assignments of a consumer group.",
    "consumer.assignor.offload.enable": "Known, and without effect: Assignments are made in slices of the event loop.",
    "errors.deadletterqueue.topic.name": "Known, and without effect: There are no share groups.",
    "errors.deadletterqueue.copy.record.enable": "Known, and without effect: There are no share groups.",
    # client metrics
    "interval.ms": "How often clients push their metrics: 100 to 3600000.",
    "match": "Which clients: ATTRIBUTE=PATTERN, in a list, all of which have to match. Nothing is every client.",
    "metrics": "Which metrics: the beginnings of their names. * is all.",
}

_REPLICAS_OF_COORDINATORS = "One node has one replica. With --brokers N it counts."

# Why a key of Apache Kafka has no effect here, by the beginning of its name; the first match wins.
_WITHOUT_EFFECT = (
    ("ssl.protocol", "ssl.enabled.protocols says what is spoken."),
    ("ssl.endpoint.", "It is clients that check the host's name, and this broker is nobody's client."),
    ("ssl.secure.random.", "Random numbers are the operating system's."),
    ("ssl.", "It is Java's: OpenSSL has no such choice. A class or a provider refuses to start on a TLS listener."),
    ("principal.builder.", "Classes cannot be loaded: naming another one refuses to start."),
    ("security.providers", "Classes cannot be loaded: naming one refuses to start."),
    ("sasl.kerberos.", "GSSAPI (Kerberos) is not served: a listener that asks for it refuses to start."),
    ("sasl.", "It is about logging in to other brokers, and there are none."),
    ("client.quota.", "A class that decides on quotas cannot be loaded: naming one refuses to start."),
    ("create.topic.policy.", "Policy classes cannot be loaded: naming one refuses to start."),
    ("alter.config.policy.", "Policy classes cannot be loaded: naming one refuses to start."),
    ("controller.", "There is no controller quorum beside this node."),
    ("offsets.load.", "Offsets are loaded in slices of 64 KiB."),
    ("offsets.topic.replication.", _REPLICAS_OF_COORDINATORS),
    ("remote.", "There is no tiered storage."),
    ("follower.", "There is one replica."),
    ("replica", "There is one replica."),
    ("transaction.state.log.load.", "Transactions are loaded in slices of 64 KiB."),
    ("transaction.state.log.replication.", _REPLICAS_OF_COORDINATORS),
    ("group.share.", "There are no share groups."),
    ("errors.deadletterqueue.", "There are no share groups."),
    ("share.", "There are no share groups."),
    ("streams.", "There are no streams groups."),
    ("leader.replication.throttled", "There is one replica: nothing is copied."),
    ("follower.replication.throttled", "There is one replica: nothing is copied."),
    ("replica.alter.log.dirs", "There is one data directory: nothing is moved."),
    ("group.streams.", "There are no streams groups."),
    ("metadata.", "The catalogue's log is written as it is."),
    ("unstable.", "What there is, is offered."),
    ("metric", "Metrics are served in another way."),
    ("kafka.metrics.", "Metrics are served in another way."),
)
_NO_SUCH_PART = "The part of Apache Kafka it sets is not there in this broker."


def documentation(name: str) -> str | None:
    """Return the text of a key; None for an unknown key."""
    from barnabas.broker.config.definitions.accepted import ACCEPTED, THROTTLED_RATES
    from barnabas.broker.config.resources.group_configs import GROUP_KEYS

    if name in _OF_OTHERS:
        return _OF_OTHERS[name]
    if name not in ACCEPTED and name not in GROUP_KEYS and name not in THROTTLED_RATES:
        return _TEXTS.get(name)
    return f"Known, and without effect: {why_without_effect(name)}"


def why_without_effect(name: str) -> str:
    """Return why one of Kafka's keys has no effect here."""
    return next((why for prefix, why in _WITHOUT_EFFECT if name.startswith(prefix)), _NO_SUCH_PART)
