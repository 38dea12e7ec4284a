//! Number of conversations that there are records for.

use datapath::meter::MeterSizes;

use super::config::{MeterCapacity, MonitorMemory};
use runtime::daemon::meminfo;

/// Bytes of memory for each record, where the room is chosen by memory: 4096 records of both
/// families in 128 MiB.
const MEMORY_SHARE: u64 = 32_768;

/// Returns the number of records.
pub fn sizes(room: MeterCapacity, links: &[u32]) -> MeterSizes {
    let records = match room {
        MeterCapacity::Records(records) => records,
        // A quarter of the cache: other programs need the remainder. IPv4 and IPv6 together use 64
        // bytes and half of 128 per record.
        MeterCapacity::Cache => u32::try_from(second_level_cache() / 4 / 128).unwrap_or(2_048),
        MeterCapacity::Auto => {
            let memory = meminfo("MemTotal").unwrap_or(128 << 20);
            (memory / MEMORY_SHARE).clamp(4_096, 65_536) as u32
        }
    };
    MeterSizes::new(records, links)
}

/// Returns the bytes for stored conversations.
pub fn memory(memory: MonitorMemory) -> u64 {
    match memory {
        MonitorMemory::Bytes(octets) => octets,
        MonitorMemory::Auto => {
            let machine = meminfo("MemTotal").unwrap_or(128 << 20);
            (machine / 32).clamp(4 << 20, 64 << 20)
        }
    }
}

/// Returns the size of the first processor's second-level cache, bytes
/// (Documentation/ABI/testing/sysfs-devices-system-cpu); by default the 512 KiB of a Cortex-A53.
fn second_level_cache() -> u64 {
    (0..8)
        .find_map(|index| {
            let file = |name: &str| {
                let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
                std::fs::read_to_string(path).ok()
            };
            (file("level")?.trim() == "2").then_some(())?;
            let size = file("size")?;
            let kib: u64 = size.trim().strip_suffix('K')?.parse().ok()?;
            Some(kib * 1024)
        })
        .unwrap_or(512 * 1024)
}
