import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.admin.AbortTransactionOptions;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeProducersOptions;
import org.apache.kafka.clients.admin.DescribeTransactionsOptions;
import org.apache.kafka.clients.admin.FenceProducersOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TerminateTransactionOptions;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;

/** Transactions and their producers: three are open, and each is ended by another means. */
final class Transactions {
    private static final TopicPartition PLACE = new TopicPartition("by-default", 0);
    private static final List<String> IDS = List.of("open-1", "nobody");

    static void sweep(Sweep sweep, Inhabitants inhabitants) throws Exception {
        for (String id : List.of("open-1", "open-2", "open-3")) {
            inhabitants.leaveOpen(id, PLACE.topic(), PLACE.partition());
        }
        listed(sweep);
        sweep.ask("some", admin -> admin.describeTransactions(IDS));
        sweep.ask("with options", admin -> admin.describeTransactions(List.of("open-2"), new DescribeTransactionsOptions()));
        sweep.ask("of a partition", admin -> admin.describeProducers(List.of(PLACE)));
        sweep.ask("of the broker", admin -> admin.describeProducers(List.of(Topics.FIRST), new DescribeProducersOptions().brokerId(1)));
        sweep.ask("of no partition", admin -> admin.describeProducers(List.of(Topics.NO_PARTITION),
            (DescribeProducersOptions) new DescribeProducersOptions().timeoutMs(Sweep.SOON_MS)));
        ended(sweep);
    }

    private static void listed(Sweep sweep) {
        sweep.ask("all", Admin::listTransactions);
        sweep.ask("ongoing", admin -> admin.listTransactions(
            new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING))));
        sweep.ask("ended", admin -> admin.listTransactions(
            new ListTransactionsOptions().filterStates(Set.of(TransactionState.COMPLETE_COMMIT))));
        sweep.ask("of a producer", admin -> admin.listTransactions(new ListTransactionsOptions().filterProducerIds(Set.of(99L))));
        sweep.ask("old ones", admin -> admin.listTransactions(new ListTransactionsOptions().filterOnDuration(3_600_000)));
        sweep.ask("by a pattern", admin -> admin.listTransactions(
            new ListTransactionsOptions().filterOnTransactionalIdPattern("open-[12]")));
        sweep.ask("by a bad pattern", admin -> admin.listTransactions(
            new ListTransactionsOptions().filterOnTransactionalIdPattern("(")));
    }

    private static void ended(Sweep sweep) throws Exception {
        ProducerState[] found = new ProducerState[1];
        sweep.until(admin -> {
            found[0] = admin.describeProducers(List.of(PLACE)).partitionResult(PLACE).get().activeProducers().get(0);
            return true;
        });
        AbortTransactionSpec good = spec(PLACE, found[0], 0);
        sweep.ask("by a newer epoch of nobody", admin -> admin.abortTransaction(spec(PLACE, found[0], 1)));
        sweep.ask("that is open", admin -> admin.abortTransaction(good, new AbortTransactionOptions()));
        sweep.ask("that is over", admin -> admin.abortTransaction(good));
        sweep.ask("of no partition", admin -> admin.abortTransaction(spec(Topics.NO_PARTITION, found[0], 0),
            (AbortTransactionOptions) new AbortTransactionOptions().timeoutMs(Sweep.SOON_MS)));
        sweep.ask("some", admin -> admin.fenceProducers(List.of("open-2")));
        sweep.ask("that nobody knows", admin -> admin.fenceProducers(List.of("nobody"), new FenceProducersOptions()));
        sweep.ask("an open one", admin -> admin.forceTerminateTransaction("open-3"));
        sweep.ask("of nobody", admin -> admin.forceTerminateTransaction("stranger", new TerminateTransactionOptions()));
        sweep.until(admin -> admin.describeTransactions(List.of("open-2", "open-3")).all().get().values().stream()
            .allMatch(each -> each.state() == TransactionState.EMPTY || each.state() == TransactionState.COMPLETE_ABORT));
        sweep.ask("after all", Admin::listTransactions);
        sweep.ask("after all", admin -> admin.describeProducers(List.of(PLACE)));
    }

    private static AbortTransactionSpec spec(TopicPartition place, ProducerState producer, int moreEpochs) {
        int coordinatorEpoch = producer.coordinatorEpoch().orElse(0);
        return new AbortTransactionSpec(place, producer.producerId(), (short) (producer.producerEpoch() + moreEpochs), coordinatorEpoch);
    }
}
