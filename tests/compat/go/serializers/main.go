// Writes and reads orders through a Go client of schema registries: CLIENT STEP ADDRESS REGISTRY TOPIC [SCHEMA…].
// CLIENT is franz-go, hamba or confluent, STEP write or read; tests/compat/serializers/test_serializers.py says what is printed.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/rest"
	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/registry"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

// schemas is what each client is asked for.
type schemas interface {
	register(subject, schema string) (int, error)
	schema(subject string, id int) (string, error)
	status(err error) int
}

type franzGo struct{ client *sr.Client }

func (r franzGo) register(subject, schema string) (int, error) {
	made, err := r.client.CreateSchema(context.Background(), subject, sr.Schema{Schema: schema, Type: sr.TypeAvro})
	return made.ID, err
}

func (r franzGo) schema(_ string, id int) (string, error) {
	found, err := r.client.SchemaByID(context.Background(), id)
	return found.Schema, err
}

func (r franzGo) status(err error) int {
	var refused *sr.ResponseError
	if errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}

type hamba struct{ client *registry.Client }

func (r hamba) register(subject, schema string) (int, error) {
	id, _, err := r.client.CreateSchema(context.Background(), subject, schema)
	return id, err
}

func (r hamba) schema(_ string, id int) (string, error) {
	found, err := r.client.GetSchema(context.Background(), id)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(found)
	return string(text), err
}

func (r hamba) status(err error) int {
	var refused registry.Error
	if errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}

type confluent struct{ client schemaregistry.Client }

func (r confluent) register(subject, schema string) (int, error) {
	return r.client.Register(subject, schemaregistry.SchemaInfo{Schema: schema}, false)
}

func (r confluent) schema(subject string, id int) (string, error) {
	found, err := r.client.GetBySubjectAndID(subject, id)
	return found.Schema, err
}

func (r confluent) status(err error) int {
	var refused *rest.Error
	if errors.As(err, &refused) && refused.Code > 999 {
		return refused.Code / 100
	}
	return 0
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func write(r schemas, client *kgo.Client, topic string, versions []string) {
	orders := []map[string]any{{"amount": int64(1)}, {"amount": int64(2), "note": "new"}}
	for version, order := range orders {
		id, err := r.register(topic+"-value", versions[version])
		check(err)
		encoded, err := avro.Marshal(avro.MustParse(versions[version]), order)
		check(err)
		value := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), encoded...)
		record := &kgo.Record{Topic: topic, Value: value, Partition: 0}
		check(client.ProduceSync(context.Background(), record).FirstErr())
	}
	_, err := r.register(topic+"-value", versions[2])
	if err != nil {
		fmt.Println("refused", r.status(err))
	}
}

func read(r schemas, client *kgo.Client, topic string) {
	for left := 2; left > 0; {
		fetches := client.PollFetches(context.Background())
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			id := int(binary.BigEndian.Uint32(record.Value[1:5]))
			schema, err := r.schema(topic+"-value", id)
			check(err)
			var order any
			check(avro.Unmarshal(avro.MustParse(schema), record.Value[5:], &order))
			shown, err := json.Marshal(order)
			check(err)
			fmt.Println("order", id, string(shown))
			left--
		})
	}
}

func main() {
	name, step, address, url, topic := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	var r schemas
	switch name {
	case "franz-go":
		client, err := sr.NewClient(sr.URLs(url))
		check(err)
		r = franzGo{client}
	case "hamba":
		client, err := registry.NewClient(url)
		check(err)
		r = hamba{client}
	default:
		client, err := schemaregistry.NewClient(schemaregistry.NewConfig(url))
		check(err)
		r = confluent{client}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address), kgo.AllowAutoTopicCreation(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ConsumeTopics(topic),
	)
	check(err)
	defer client.Close()
	if step == "write" {
		write(r, client, topic, os.Args[6:])
	} else {
		read(r, client, topic)
	}
}
