// confluent-kafka-go, which is librdkafka behind Go: one thing a run, as tests/compat/test_librdkafka.py asks for it.
//
//	write ADDRESS TOPIC COMPRESSION COUNT    write "0", "1", … and wait for all acknowledgements
//	group ADDRESS TOPIC GROUP COUNT          print COUNT values, read as a member of the group, and commit
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func main() {
	log.SetFlags(0)
	command, address, topic, how := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	count, err := strconv.Atoi(os.Args[5])
	if err == nil && command == "write" {
		err = write(address, topic, how, count)
	} else if err == nil {
		err = read(address, topic, how, count)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func write(address, topic, compression string, count int) error {
	producer, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": address, "compression.type": compression})
	if err != nil {
		return err
	}
	defer producer.Close()
	acknowledged := make(chan kafka.Event, count)
	for i := range count {
		place := kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny}
		message := &kafka.Message{TopicPartition: place, Value: []byte(strconv.Itoa(i))}
		if err := producer.Produce(message, acknowledged); err != nil {
			return err
		}
	}
	for range count {
		if err := (<-acknowledged).(*kafka.Message).TopicPartition.Error; err != nil {
			return err
		}
	}
	return nil
}

func read(address, topic, group string, count int) error {
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": false,
	})
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := consumer.Subscribe(topic, nil); err != nil {
		return err
	}
	for range count {
		message, err := consumer.ReadMessage(-1)
		if err != nil {
			return err
		}
		fmt.Println(string(message.Value))
	}
	_, err = consumer.Commit()
	return err
}
