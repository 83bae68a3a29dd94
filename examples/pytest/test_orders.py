from kafka import KafkaConsumer, KafkaProducer


def test_an_order_arrives(barnabas):
    with KafkaProducer(bootstrap_servers=barnabas.bootstrap_servers) as producer:
        producer.send("orders", b"one castle")
    settings = {"bootstrap_servers": barnabas.bootstrap_servers, "auto_offset_reset": "earliest"}
    with KafkaConsumer("orders", **settings) as consumer:
        assert next(consumer).value == b"one castle"
    assert [record.value for record in barnabas.records("orders")] == [b"one castle"]
