//! `weir run --shadow`: the kernel forwards, weir computes its own result and compares.

use lab::gateway::{self, Options};
use lab::namespace::wait_until;
use lab::transfer::Transfer;
use lab::{Error, Lab};
use weir_tests::{LIMIT, Weir, hooked};

fn shadowed(hook: &str, plain: bool) -> Result<(Lab, Weir), Error> {
    let lab = Lab::gateway(&Options {
        nat: true,
        plain_offloads: plain,
        ..Options::default()
    })?;
    // Otherwise weir leaves flows with such rules to the kernel, and compares nothing.
    let config = format!("{}[offload]\neach_packet = \"ignore\"\n", hooked(hook));
    let weir = Weir::start(lab.node("router")?, &config, &["--shadow"])?;
    weir.wait_for_ports(2)?;
    Ok((lab, weir))
}

fn compared(weir: &Weir) -> Result<(u64, u64), Error> {
    let shadow = weir
        .status()?
        .shadow
        .ok_or_else(|| Error::Unexpected("not in shadow mode".into()))?;
    Ok((shadow.same, shadow.different))
}

/// Later a rule changes some packets of the flow in a way that no proof shows, as shadow mode must
/// detect. Of packets that arrive together weir compares only the last, so the rule changes all
/// packets with data.
#[test]
fn the_kernel_sends_what_weir_would_have_sent_until_a_rule_changes_it() -> Result<(), Error> {
    for (hook, plain) in [("xdp", true), ("tc", false)] {
        let (lab, weir) = shadowed(hook, plain)?;
        let to = (gateway::SERVER, 5001).into();
        let transfer = Transfer::start(
            lab.node("client")?,
            lab.node("server")?,
            to,
            1,
            Some(4_000_000),
        )?;
        wait_until("packets are compared", LIMIT, || {
            transfer.advance(1 << 16, LIMIT)?;
            Ok(compared(&weir)?.0 > 100)
        })?;
        let status = weir.status()?;
        assert_eq!(compared(&weir)?.1, 0, "{hook}: {}", weir.log());
        assert_eq!(
            status.packets.forwarded(),
            0,
            "{hook}: in shadow mode weir forwards nothing"
        );
        if hook == "xdp" {
            lab.node("router")?.nft(
                "table inet odd {\nchain forward {\ntype filter hook forward priority mangle; policy \
                    accept;\n\
                 ip saddr 192.168.1.2 meta length > 100 tcp urgptr set 7\n}\n}\n",
            )?;
            wait_until("a difference is found", LIMIT, || {
                transfer.advance(1 << 16, LIMIT)?;
                Ok(compared(&weir)?.1 > 0)
            })?;
            wait_until("the difference is told", LIMIT, || {
                Ok(weir.log().contains("the kernel sent it differently"))
            })?;
        }
        transfer.stop()?;
    }
    Ok(())
}
