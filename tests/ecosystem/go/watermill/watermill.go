// Program watermill copies a topic into another with Watermill's router: watermill ADDRESS SOURCE TARGET GROUP DIRECTORY.
package main

import (
	"context"
	"os"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
)

func main() {
	address, source, target, group := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	logger := watermill.NewStdLogger(false, false)
	settings := kafka.DefaultSaramaSubscriberConfig()
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.IsolationLevel = sarama.ReadCommitted
	subscriber, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers:               []string{address},
		Unmarshaler:           kafka.DefaultMarshaler{},
		OverwriteSaramaConfig: settings,
		ConsumerGroup:         group,
	}, logger)
	check(err)
	publisher, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers:   []string{address},
		Marshaler: kafka.DefaultMarshaler{},
	}, logger)
	check(err)
	router, err := message.NewRouter(message.RouterConfig{}, logger)
	check(err)
	router.AddHandler("copier", source, subscriber, target, publisher, message.PassthroughHandler)
	check(router.Run(context.Background()))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
