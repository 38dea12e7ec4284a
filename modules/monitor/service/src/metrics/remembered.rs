//! Metrics of the table of conversations.

use answers::MonitorStatus;
use api::metrics::Exposition;

api::metrics! {
    CONVERSATIONS "weir_conversations" Gauge &[], "Conversations that are remembered.";
    CAPACITY "weir_conversations_capacity" Gauge &[], "Capacity of the conversation table.";
    MEMORY "weir_conversations_memory_bytes" Gauge &[], "Largest memory of remembered \
        conversations.";
    NO_ROOM "weir_conversations_no_room_packets_total" Counter &[], "Packets of conversations \
        without a free record: only the sums of devices and ports include them.";
}

/// Writes it.
pub fn remembered(text: &mut Exposition, remembered: &MonitorStatus) {
    for (metric, value) in [
        (CONVERSATIONS, remembered.conversations),
        (CAPACITY, remembered.capacity),
        (MEMORY, remembered.memory),
        (NO_ROOM, remembered.no_room.packets),
    ] {
        text.family(metric);
        text.sample(metric, &[], value);
    }
}
