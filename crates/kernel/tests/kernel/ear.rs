//! Against the running kernel: frames that a device receives, and its removal.

use crate::common;
use std::io::ErrorKind;

use common::{in_namespace, run};
use weir_kernel::io::MonitorSocket;

#[test]
fn an_ear_is_told_that_its_device_is_gone() {
    for end in ["ip link del v0", "ip link set v0 down"] {
        in_namespace(move || async move {
            run("ip link add v0 type veth peer name v1; ip link set v1 up; ip link set v0 up");
            let mut ear = MonitorSocket::open("v0", [2, 0, 0, 0, 0, 1], [1, 2, 3]).expect("an ear");
            run(end);
            let mut frames = Vec::new();
            let error = loop {
                // Waits until there is something to be read, or nothing will be.
                if let Err(error) = ear.recv(&mut frames).await {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::NetworkDown, "{end}");
            assert_eq!(frames.len(), 0);
        });
    }
}
