//! Metrics of the table of conversations.

use answers::MonitorStatus;
use api::metrics::Exposition;

api::metrics! {
    CONVERSATIONS "weir_conversations" Gauge &[], "Conversations that are remembered.";
    CAPACITY "weir_conversations_capacity" Gauge &[], "Capacity of the conversation table.";
    MEMORY "weir_conversations_memory_bytes" Gauge &[], "Largest memory of remembered \
        conversations.";
    OVERFLOW "weir_conversations_overflow_packets_total" Counter &[], "Packets of conversations \
        without a free record: only the sums of devices and ports include them.";
}

/// Writes it.
pub fn remembered(text: &mut Exposition, remembered: &MonitorStatus) {
    for (metric, value) in [
        (CONVERSATIONS, remembered.conversations),
        (CAPACITY, remembered.capacity),
        (MEMORY, remembered.memory),
        (OVERFLOW, remembered.overflow.packets),
    ] {
        text.family(metric);
        text.sample(metric, &[], value);
    }
}
