//! Vouchers of an earlier portal.

use std::fs;

use answers::Imported;

use super::*;

/// Returns a voucher file of Pirania.
fn file(id: &str, code: &str, more: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"name\":\"{id}\",\"code\":\"{code}\",\"creation_date\":1700000000{more}}}"
    )
}

/// Admitted guests stay admitted, and sold vouchers stay valid by their printed code, also after a
/// restart.
#[test]
fn vouchers_of_pirania_hold_on() -> Result<(), Error> {
    let mut place = Place::open("tc", "")?;
    let to = SocketAddr::new(SERVER, ECHO);
    let _echo = Echo::serve(place.lab.node("server")?, to)?;
    assert!(ask_tcp(place.client()?, to, b"in?").is_err());
    let mac = place.clients()?.clients[0].mac.clone();
    let folder = place.folder.join("pirania");
    fs::create_dir_all(&folder).map_err(unexpected)?;
    let since = net::clock::unix_seconds() - 600;
    let in_use = format!(",\"duration_m\":60,\"mac\":\"{mac}\",\"activation_date\":{since}");
    for (id, code, more) in [
        ("AAAAAA", "OIOIOI", in_use.as_str()),
        ("BBBBBB", "ZRJUXN", ",\"duration_m\":30"),
    ] {
        fs::write(folder.join(format!("{id}.json")), file(id, code, more)).map_err(unexpected)?;
    }
    let import = format!("voucher import {}", folder.display());
    let told = place.weir(&format!("{import} --json"))?;
    let told: Imported = serde_json::from_str(&told).map_err(unexpected)?;
    assert_eq!((told.vouchers.len(), told.known), (2, 0));
    assert_eq!(ask_tcp(place.client()?, to, b"in")?, b"in");
    let inside = place.clients()?.clients[0].clone();
    let left = inside.seconds_remaining.unwrap_or(0);
    assert!((2900..=3000).contains(&left), "{left}");
    assert!(
        place
            .weir(&import)?
            .contains("0 vouchers imported, 2 already known.")
    );
    // The import names files that are not vouchers, and takes the others.
    fs::write(folder.join("wrong.json"), "{}").map_err(unexpected)?;
    fs::write(folder.join("no-text.json"), [0xff]).map_err(unexpected)?;
    fs::write(folder.join("long.json"), vec![b' '; 1 << 20]).map_err(unexpected)?;
    let client = place.client()?;
    client.run(&format!("mkfifo {}", folder.join("pipe.json").display()))?;
    std::os::unix::fs::symlink("/dev/zero", folder.join("zeros.json")).map_err(unexpected)?;
    fs::write(folder.join("zz.json"), file("CCCCCC", "QWERTZ", "")).map_err(unexpected)?;
    let refused = place.weir(&import).expect_err("refused").to_string();
    assert!(
        refused.contains("not all vouchers were imported"),
        "{refused}"
    );
    let taken = place.weir("voucher list --json")?;
    assert!(taken.contains("QWERTZ"), "{taken}");
    place.weir("voucher revoke oioioi")?;
    wait_until("who was in is out", LIMIT, || {
        Ok(ask_tcp(place.client()?, to, b"in?").is_err())
    })?;
    place.weir.end(nix::sys::signal::Signal::SIGKILL)?;
    place.weir.restart(place.lab.node("router")?)?;
    place.is_closed()?;
    place.log_in("zrj-uxn")?;
    assert_eq!(ask_tcp(place.client()?, to, b"in")?, b"in");
    assert_eq!(place.curl(&format!("-d code=OIOIOI {PAGE}login"))?, "403>");
    Ok(())
}
