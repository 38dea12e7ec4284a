//! A history needs only its directory of the file system.

use crate::common;
use common::*;
use weir_history_core::Unit;

#[test]
fn a_confined_thread_reaches_all_it_needs() {
    let directory = Directory::new();
    let path = directory.file();
    let work = std::thread::spawn(move || {
        confine(path.parent().expect("a directory"));
        assert!(std::fs::read("/etc/passwd").is_err());
        let mut store = open(&path, NOON);
        for hour in 0..30 {
            store.add(NOON + hour * HOUR, Some(mac(1)), "web", &traffic(1000));
            store.flush(NOON + hour * HOUR).expect("a flush");
        }
        assert_eq!(received(&store, Unit::Month), 30_000);
        drop(store);
        std::fs::write(&path, [0xa5; 8192]).expect("damage");
        let mut store = open(&path, NOON);
        assert_eq!(store.notices().len(), 1);
        store.add(NOON, Some(mac(1)), "web", &traffic(1000));
        store.close(NOON).expect("a last flush");
    });
    work.join().expect("all of it");
}
