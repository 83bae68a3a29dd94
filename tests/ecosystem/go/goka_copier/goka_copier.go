// Program goka_copier copies a topic into another with a goka processor: goka_copier ADDRESS SOURCE TARGET GROUP DIRECTORY.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"github.com/lovoo/goka/codec"
)

func main() {
	address, source, target, group := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	settings := goka.DefaultConfig()
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.IsolationLevel = sarama.ReadCommitted
	settings.Metadata.Retry.Max = 1_000
	settings.Producer.Retry.Max = 1_000
	goka.ReplaceGlobalConfig(settings)
	copier := goka.DefineGroup(
		goka.Group(group),
		goka.Input(goka.Stream(source), new(codec.Bytes), func(ctx goka.Context, value any) {
			ctx.Emit(goka.Stream(target), ctx.Key(), value)
		}),
		goka.Output(goka.Stream(target), new(codec.Bytes)),
	)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		// A processor ends at the first error, and cannot run twice.
		processor, err := goka.NewProcessor([]string{address}, copier)
		if err == nil {
			err = processor.Run(ctx)
		}
		log.Println("the processor has ended:", err)
	}
}
