//! A process that is killed while it writes leaves a good file, with all that it was told to be written, once.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::*;
use weir_history::{Store, Unit};

const CHILD: &str = "WEIR_HISTORY_CRASH_CHILD";
/// Rows of one flush, and octets received of each.
const ROWS: u32 = 60;
const OCTETS: u64 = 1000;

/// Runs in the child: it counts and writes, hour after hour, and says when something is written, until it is killed.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let mut now = NOON;
    let mut store: Store = open(path.as_ref(), now);
    let mut written = received(&store, Unit::Month);
    println!("written {written}");
    loop {
        now += 900;
        for device in 0..ROWS {
            store.add(now, Some(mac(device)), "web", &traffic(OCTETS));
        }
        store.flush(now).expect("a flush");
        written += u64::from(ROWS) * OCTETS;
        println!("written {written}");
    }
}

#[test]
fn what_was_written_is_there_once_after_a_kill() {
    let directory = Directory::new();
    let mut least = 0;
    for round in 0..25u64 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "child", "--nocapture"])
            .env(CHILD, directory.file())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut told = || -> Option<u64> {
            lines.find_map(|line| line.ok()?.split("written ").nth(1)?.trim().parse().ok())
        };
        assert!(told().expect("what it found") >= least);
        // It is somewhere in its work then, another place each time.
        std::thread::sleep(Duration::from_millis(5 + round * 7 % 60));
        child.kill().expect("a kill");
        child.wait().expect("its end");
        while let Some(written) = told() {
            least = written;
        }
        let mut store = open(&directory.file(), NOON);
        assert!(
            store.notices().is_empty(),
            "round {round}: the file is good"
        );
        let sum = received(&store, Unit::Month);
        let flush = u64::from(ROWS) * OCTETS;
        assert!(
            sum == least || sum == least + flush,
            "round {round}: {sum} is neither {least} nor one flush more"
        );
        for unit in Unit::ALL {
            assert_eq!(received(&store, unit), sum, "round {round}: {unit}");
        }
        least = sum;
    }
    assert!(least > 0);
}
