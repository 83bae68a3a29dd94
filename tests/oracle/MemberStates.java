// Prints the states of a member in Kafka's consumer, a line each: its name, a tab, and the states before it, by commas.

import java.util.List;
import org.apache.kafka.clients.consumer.internals.MemberState;

public class MemberStates {
    public static void main(String[] arguments) {
        for (MemberState state : MemberState.values()) {
            List<String> before = state.getPreviousValidStates().stream().map(MemberState::name).toList();
            System.out.println(state.name() + "\t" + String.join(",", before));
        }
    }
}
