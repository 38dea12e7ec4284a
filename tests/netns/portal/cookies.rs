//! Cookies by which the portal recognises devices, and a password for all guests.

use super::*;

/// Returns the token that the page's forms send along.
pub(crate) fn token(page: &str) -> Result<&str, Error> {
    let (_, rest) = page
        .split_once("name=\"token\" value=\"")
        .ok_or_else(|| unexpected(page))?;
    Ok(rest.split('"').next().unwrap_or_default())
}

impl Place {
    /// Loads the page in a browser with its own cookie jar.
    pub(crate) fn browse(&self, jar: &str) -> Result<String, Error> {
        let jar = self.folder.join(jar);
        let jar = jar.display();
        self.client()?
            .run(&format!("curl -s -m 10 -b {jar} -c {jar} {PAGE}"))
    }

    /// Sends a form from that browser.
    pub(crate) fn send(&self, jar: &str, path: &str, said: &str) -> Result<String, Error> {
        let page = self.browse(jar)?;
        let (token, jar) = (token(&page)?, self.folder.join(jar));
        let jar = jar.display();
        self.curl(&format!(
            "-b {jar} -c {jar} -d token={token} -d {said} {PAGE}{path}"
        ))
    }
}

impl Place {
    /// Gives the client another hardware address.
    pub(crate) fn become_one(&self, mac: &str) -> Result<(), Error> {
        let client = self.client()?;
        let device = client.run("ip -o link show type veth")?;
        let mut words = device.split(": ");
        let device = words.nth(1).and_then(|name| name.split('@').next());
        let device = device.ok_or_else(|| unexpected("no device"))?;
        let routes = client.run("ip route show default")?;
        let routes = routes.trim();
        client.run(&format!("ip link set {device} down"))?;
        client.run(&format!("ip link set {device} address {mac} up"))?;
        if !routes.is_empty() {
            // The route vanished with the link.
            let _ = client.run(&format!("ip route add {routes}"));
        }
        Ok(())
    }
}

/// A device with a new hardware address continues by one tap, and its old address is removed. weir
/// notices a copy of the cookie later.
#[test]
fn a_browser_is_known_again_when_the_hardware_address_is_another() -> Result<(), Error> {
    let place = Place::open("tc", "")?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let to = SocketAddr::new(SERVER, 8080);
    let _echo = Echo::serve(server, to)?;
    let voucher = place.sell("--duration 1h --devices 2")?;
    let said = place.send("phone", "login", &format!("code={}", voucher.code))?;
    assert!(said.starts_with("303>"), "{said}");
    assert_eq!(ask_tcp(client, to, b"in")?, b"in");
    let first = place.clients()?.clients[0].mac.clone();
    place.become_one("02:00:00:00:77:01")?;
    wait_until("the new address is asked for its voucher", LIMIT, || {
        Ok(place
            .browse("phone")?
            .contains("Continue with your voucher"))
    })?;
    assert!(ask_tcp(client, to, b"in?").is_err());
    // A changed or revoked cookie does not work.
    let jar = std::fs::read_to_string(place.folder.join("phone")).map_err(unexpected)?;
    let cut = jar.trim_end();
    let (kept, last) = cut.split_at(cut.len() - 1);
    let changed = format!("{kept}{}\n", if last == "2" { "3" } else { "2" });
    std::fs::write(place.folder.join("changed"), changed).map_err(unexpected)?;
    assert!(
        !place
            .browse("changed")?
            .contains("Continue with your voucher")
    );
    // Another browser lacks the cookie.
    assert!(
        !place
            .browse("other")?
            .contains("Continue with your voucher")
    );
    let page = place.browse("phone")?;
    let (_, rest) = page
        .split_once("name=\"code\" value=\"")
        .ok_or_else(|| unexpected(&page))?;
    let signed = rest.split('"').next().unwrap_or_default();
    let said = place.send("phone", "login", &format!("code={signed}"))?;
    assert!(said.starts_with("303>"), "{said}");
    assert_eq!(ask_tcp(client, to, b"in")?, b"in");
    // The old address is removed, although the voucher allows two devices.
    let admitted = |mac: &str| {
        let clients = place.clients()?.clients.into_iter();
        let mut found = clients.filter(|one| one.state == PortalState::Admitted && one.mac == mac);
        Ok::<_, Error>(found.next())
    };
    assert!(admitted(&first)?.is_none());
    let guest = admitted("02:00:00:00:77:01")?.ok_or_else(|| unexpected("not in"))?;
    assert_eq!(guest.other_browser, None);
    // A thief logs in from this address with another pass.
    let second = place.sell("--duration 1h")?;
    let said = place.send("thief", "login", &format!("code={}", second.code))?;
    assert!(said.starts_with("303>"), "{said}");
    let guest = admitted("02:00:00:00:77:01")?.ok_or_else(|| unexpected("not in"))?;
    assert!(guest.other_browser.is_some());
    assert!(place.weir.log().contains("another browser"));
    // The cookie is hidden from scripts and bound to this host.
    let jar = std::fs::read_to_string(place.folder.join("phone")).map_err(unexpected)?;
    assert!(jar.contains("#HttpOnly_192.168.1.1"), "{jar}");
    Ok(())
}

/// A password admits a guest for a while; guesses are rate-limited like codes.
#[test]
fn a_password_lets_in() -> Result<(), Error> {
    let more = "free = \"password\"\nfree_password = \"FOLDER/password\"\nfree_time = \"10s\"\n\
        free_rate = \"8Mbit\"\n";
    let password = "caf\u{e9} am Markt \nsecond line\n";
    let place = Place::open_with("tc", more, &[("password", password)])?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let to = SocketAddr::new(SERVER, 8080);
    let _echo = Echo::serve(server, to)?;
    let page = place.browse("jar")?;
    assert!(page.contains("name=\"password\""), "{page}");
    let said = place.send("jar", "free", "password=secret")?;
    assert!(said.starts_with("403>"), "{said}");
    assert!(ask_tcp(client, to, b"in?").is_err());
    let said = place.send("jar", "free", "password=caf%C3%A9+am+Markt")?;
    assert!(said.starts_with("303>"), "{said}");
    assert_eq!(ask_tcp(client, to, b"in")?, b"in");
    assert_eq!(place.clients()?.clients[0].state, PortalState::Free);
    let table = place
        .lab
        .node("router")?
        .run("nft list map inet weir_portal up")?;
    assert!(table.contains("_8000000"), "{table}");
    wait_until("it is over", LIMIT, || {
        Ok(ask_tcp(client, to, b"in?").is_err())
    })?;
    for _ in 0..5 {
        place.send("jar", "free", "password=guess")?;
    }
    let said = place.send("jar", "free", "password=caf%C3%A9+am+Markt")?;
    assert!(said.starts_with("429>"), "{said}");
    Ok(())
}
