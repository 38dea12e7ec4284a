//! The page by HTTPS with a trusted certificate, and its DHCP option (RFC 8908, 8910).

use std::process::{Command, Stdio};

use super::*;

const HOST: &str = "portal.example.net";

/// A certificate authority and its certificates.
struct Authority(Directory);

impl Authority {
    fn new() -> Result<Self, Error> {
        let authority = Self(Directory::new());
        authority.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -days 2 \
             -keyout ca.key -out ca.pem",
        )?;
        authority.vouch("1001")?;
        Ok(authority)
    }

    fn openssl(&self, line: &str) -> Result<(), Error> {
        let mut openssl = Command::new("openssl");
        openssl
            .args(line.split_whitespace())
            .current_dir(self.0.path());
        let done = openssl.output().map_err(unexpected)?;
        match done.status.success() {
            true => Ok(()),
            false => Err(unexpected(String::from_utf8_lossy(&done.stderr))),
        }
    }

    /// Issues a certificate with this serial number, in hexadecimal.
    fn vouch(&self, serial: &str) -> Result<(), Error> {
        self.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={HOST} -days 2 \
             -addext subjectAltName=DNS:{HOST} -addext basicConstraints=CA:FALSE -set_serial 0x{serial} \
             -CA ca.pem -CAkey ca.key -keyout new.key -out new.pem"
        ))?;
        for (new, name) in [("new.key", "host.key"), ("new.pem", "host.pem")] {
            std::fs::rename(self.0.join(new), self.0.join(name)).map_err(unexpected)?;
        }
        Ok(())
    }

    fn settings(&self) -> String {
        let (certificate, key) = (self.0.join("host.pem"), self.0.join("host.key"));
        format!("host = \"{HOST}\"\ncertificate = {certificate:?}\ncertificate_key = {key:?}\n")
    }
}

impl Place {
    /// Requests a path as a client that trusts only the authority.
    fn https(&self, authority: &Authority, arguments: &str, path: &str) -> Result<String, Error> {
        let trusted = authority.0.join("ca.pem");
        let trusted = trusted.display();
        self.client()?.run(&format!(
            "curl -sS -m 10 --cacert {trusted} --resolve {HOST}:2443:192.168.1.1 {arguments} \
             https://{HOST}:2443{path}"
        ))
    }
}

#[test]
fn the_page_goes_by_https_and_dhcp_says_where() -> Result<(), Error> {
    let authority = Authority::new()?;
    let place = Place::open("tc", &authority.settings())?;
    let (client, server) = (place.client()?, place.lab.node("server")?);
    let router = place.lab.node("router")?;
    assert_eq!(
        place.curl(&format!("http://{SERVER}/generate_204"))?,
        format!("302>https://{HOST}:2443/")
    );
    let told = |place: &Place| -> Result<serde_json::Value, Error> {
        let told = place.https(&authority, "", "/captive-portal/api")?;
        serde_json::from_str(&told).map_err(unexpected)
    };
    let before = told(&place)?;
    assert_eq!(before["captive"], true, "{before}");
    assert_eq!(before["user-portal-url"], format!("https://{HOST}:2443/"));
    // Under another host name the server redirects to its own name, and does not relay.
    let trusted = authority.0.join("ca.pem");
    let line = format!(
        "-k --cacert {} https://192.168.1.1:2443/x",
        trusted.display()
    );
    assert_eq!(place.curl(&line)?, format!("302>https://{HOST}:2443/"));
    assert!(place.https(&authority, "", "/")?.contains("name=\"code\""));
    let voucher = place.sell("--duration 1h")?;
    let arguments = format!("-w %{{http_code}} -d code={}", voucher.code);
    let said = place.https(&authority, &arguments, "/login")?;
    assert!(said.ends_with("303"), "{said}");
    let after = told(&place)?;
    assert_eq!(after["captive"], false, "{after}");
    assert!(
        after["seconds-remaining"]
            .as_u64()
            .is_some_and(|left| left > 3500)
    );
    // The page is closed from outside.
    assert!(
        server
            .run("curl -s -m 2 -k https://10.0.0.1:2443/")
            .is_err()
    );
    // A new certificate takes effect without a restart.
    authority.vouch("2002")?;
    wait_until("the new certificate", LIMIT, || {
        // A permanent series of connections would be rate-limited.
        std::thread::sleep(AT_ONCE);
        let trusted = authority.0.join("ca.pem");
        let shown = client.run(&format!(
            "timeout 5 openssl s_client -connect 192.168.1.1:2443 -servername {HOST} -CAfile {} -showcerts",
            trusted.display()
        ))?;
        let shown = client.feed("openssl x509 -noout -serial", &shown)?;
        Ok(shown.contains("2002"))
    })?;
    // DHCP as in docs/how-to/portal.md.
    let mut dnsmasq = Command::new("dnsmasq");
    dnsmasq.args([
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--port=0",
        "--bind-dynamic",
    ]);
    dnsmasq.args([
        "--user=root",
        "--interface=lan0",
        "--dhcp-range=192.168.1.100,192.168.1.150,1h",
    ]);
    dnsmasq.arg(format!(
        "--dhcp-leasefile={}",
        place.folder.join("leases").display()
    ));
    dnsmasq.arg("--pid-file=");
    dnsmasq.arg(format!(
        "--dhcp-option-force=114,https://{HOST}:2443/captive-portal/api"
    ));
    dnsmasq
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _dnsmasq = router.start(&mut dnsmasq)?;
    let device = client.run("ip -o link show type veth")?;
    let device = device
        .split(": ")
        .nth(1)
        .and_then(|name| name.split('@').next());
    let device = device.ok_or_else(|| unexpected("no device"))?;
    let script = place.folder.join("script");
    std::fs::write(&script, "#!/bin/sh\nenv\n").map_err(unexpected)?;
    let made = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&script, made).map_err(unexpected)?;
    let script = script.display();
    let leased = client.run(&format!(
        "busybox udhcpc -i {device} -n -q -t 10 -T 1 -O 114 -s {script}"
    ))?;
    // BusyBox prints the unknown option's bytes in hexadecimal.
    let api = format!("https://{HOST}:2443/captive-portal/api");
    let octets = net::hex::text(api.as_bytes());
    assert!(leased.contains(&octets), "{leased}");
    Ok(())
}

/// A missing certificate, or one of another key, is reported before it shuts guests out.
#[test]
fn a_certificate_of_no_use_is_told() -> Result<(), Error> {
    let authority = Authority::new()?;
    std::fs::copy(authority.0.join("ca.key"), authority.0.join("host.key")).map_err(unexpected)?;
    let Err(error) = Place::open("off", &authority.settings()) else {
        return Err(unexpected("it was taken"));
    };
    let error = error.to_string();
    assert!(
        error.contains("certificate") && error.contains("host.pem"),
        "{error}"
    );
    Ok(())
}
