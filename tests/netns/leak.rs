//! IPsec: a policy that appears during a flow must end its plain packets at once.

use std::time::Duration;

use lab::gateway::{self, Options};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Tap};
use weir_tests::{LIMIT, gateway_weir};

#[test]
fn an_ipsec_policy_ends_plain_packets() -> Result<(), Error> {
    for hook in ["xdp", "tc"] {
        let lab = Lab::gateway(&Options {
            nat: true,
            plain_offloads: true,
            ..Options::default()
        })?;
        let weir = gateway_weir(&lab, hook)?;
        let (client, server, router) = (
            lab.node("client")?,
            lab.node("server")?,
            lab.node("router")?,
        );
        let echo = Echo::serve(server, (gateway::SERVER, 7).into())?;
        let talk = Datagrams::open(client, (gateway::SERVER, 7).into())?;
        wait_until("weir forwards the flow", LIMIT, || {
            talk.ask(b"hello", Duration::from_millis(200))?;
            Ok(weir.forwarded()? > 10)
        })?;

        // To be encrypted, but no key is there: the kernel drops what it may not send in the clear.
        router.run(
            "ip xfrm policy add src 0.0.0.0/0 dst 10.0.0.2/32 dir out tmpl src 10.0.0.1 dst 10.0.0.2 proto esp mode tunnel",
        )?;
        std::thread::sleep(Duration::from_secs(1));
        let mut tap = Tap::open(server, "eth0")?;
        for _ in 0..20 {
            assert!(
                !talk.ask(b"hello", Duration::from_millis(50))?,
                "{hook}: answered in the clear"
            );
        }
        let leaked = tap
            .drain(Duration::from_millis(100))?
            .iter()
            .filter(|frame| frame.windows(5).any(|w| w == b"hello"))
            .count();
        assert_eq!(leaked, 0, "{hook}: {}", weir.log());
        drop(echo);
    }
    Ok(())
}
