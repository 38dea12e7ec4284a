//! A client of the LAN that tries to take all connections.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;

use lab::Error;
use lab::uplinks::{Options, PARTNER, SERVER, Uplinks};
use weir_tests::partner::{Pair, Partner};
use weir_tests::{LIMIT, Weir, binary};

use crate::multipath::{at, rules};

const OTHER: &str = "192.168.77.7";

/// A router with few descriptors has room for 64 connections. One client gets half of it.
#[test]
fn one_client_does_not_take_all_the_room() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
    let partner = Partner::start(uplinks.partner(), &[])?;
    let line = partner.pair(&PARTNER.to_string())?;
    let narrow = std::env::temp_dir().join(format!("{}-narrow", uplinks.router().name()));
    // With the capability, weir would raise its own limit.
    let script = format!(
        "#!/bin/sh\nexec prlimit --nofile=700 setpriv --bounding-set -sys_resource --inh-caps \
            -sys_resource {} \"$@\"\n",
        binary().display()
    );
    fs::write(&narrow, script).map_err(Error::system("write a script"))?;
    fs::set_permissions(&narrow, PermissionsExt::from_mode(0o755))
        .map_err(Error::system("write a script"))?;
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    let options = ["--only", "multipath", "-v"];
    let weir = Weir::start_as(&narrow, uplinks.router(), &config, &options)?;
    let pair = Pair {
        weir,
        partner,
        uplinks,
    };
    pair.wait_for("the partner", |told| told.redirects)?;
    let (client, server) = (pair.uplinks.client(), pair.uplinks.server());
    client.ip(&format!("addr add {OTHER}/24 dev eth0\n"))?;
    let _echo = lab::transfer::Echo::serve(server, at(SERVER))?;

    let connect = || TcpStream::connect_timeout(&at(SERVER), LIMIT);
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(client.enter(connect)?);
    }
    pair.wait_for("connections to be turned away", |told| {
        told.connections.open == 32 && told.connections.refused == 8
    })?;
    let other: IpAddr = OTHER.parse().expect("an address");
    let to = SocketAddr::new(SERVER, 5003);
    assert_eq!(rules::by_tcp(&pair, other, to)?, PARTNER);
    drop(held);
    fs::remove_file(&narrow).map_err(Error::system("remove a script"))
}
