//! The maps of a packet path from outside, for what only time would bring about otherwise.

use kernel::Tuple;
use libbpf_rs::{MapCore, MapFlags, MapHandle, query::MapInfoIter};

/// struct flow4: bytes of a record, and where its key begins. `count` comes first.
const RECORD: usize = 64;
const KEY: usize = 32;

/// Sets the shared counter of the record that has this IPv4 tuple as its key. Such a tuple must
/// exist once on the machine.
pub fn set_count(tuple: &Tuple, count: u64) {
    let key = key4(tuple);
    for info in MapInfoIter::default().filter(|i| i.name == "flows4") {
        let Ok(map) = MapHandle::from_map_id(info.id) else {
            continue; // gone since
        };
        for bucket in 0..map.max_entries() {
            let at = bucket.to_ne_bytes();
            let Ok(Some(mut value)) = map.lookup(&at, MapFlags::ANY) else {
                break;
            };
            let Some(way) = value.chunks(RECORD).position(|r| r[KEY..KEY + 16] == key) else {
                continue;
            };
            value[way * RECORD..way * RECORD + 8].copy_from_slice(&count.to_ne_bytes());
            map.update(&at, &value, MapFlags::ANY).expect("an update");
            return;
        }
    }
    panic!("no record of {tuple}");
}

fn key4(tuple: &Tuple) -> [u8; 16] {
    let (std::net::IpAddr::V4(source), std::net::IpAddr::V4(destination)) =
        (tuple.source, tuple.destination)
    else {
        panic!("IPv4 only");
    };
    let mut key = [0; 16];
    key[..4].copy_from_slice(&source.octets());
    key[4..8].copy_from_slice(&destination.octets());
    key[8..10].copy_from_slice(&tuple.source_port.to_be_bytes());
    key[10..12].copy_from_slice(&tuple.destination_port.to_be_bytes());
    key[12] = tuple.protocol.number();
    key
}
