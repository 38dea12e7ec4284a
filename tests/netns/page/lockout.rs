//! A host of the LAN that guesses passwords, under any address, locks no other host out.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use answers::Device;
use lab::namespace::wait_until;
use lab::topology::{Offloads, mac, text};
use lab::{Error, Lab, Namespace, Options};
use testing::Directory;
use weir_tests::{LIMIT, Weir};

const PASSWORD: &str = "a household's own words";
/// More tries than all unauthenticated clients may have at once.
const TRIES: usize = 30;

/// Returns the status of a log-in from this address of a host.
fn log_in(host: &Namespace, from: &str, to: &str, password: &str) -> Result<String, Error> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code}"]);
    curl.args(["--max-time", "30", "--interface", from]);
    curl.args(["-H", "Content-Type: application/json", "-d"]);
    curl.arg(format!("{{\"password\":\"{password}\"}}"));
    curl.arg(format!("http://{to}/api/login"));
    let out = host.enter(|| curl.output())?;
    let out = out.map_err(Error::system("run curl"))?;
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn a_host_that_guesses_keeps_nobody_else_out() -> Result<(), Error> {
    let mut lab = Lab::gateway(&Options::default())?;
    lab.host("other")?;
    lab.wire(("router", "lan1"), ("other", "eth0"), Offloads::Default)?;
    lab.address("router", "lan1", "192.168.2.1/24")?;
    lab.address("other", "eth0", "192.168.2.2/24")?;
    let addresses: Vec<String> = (10..15).map(|last| format!("192.168.1.{last}")).collect();
    for address in &addresses {
        lab.address("client", "eth0", &format!("{address}/24"))?;
    }
    let (router, client, other) = (lab.node("router")?, lab.node("client")?, lab.node("other")?);
    let folder = Directory::new();
    let password = folder.join("password");
    let config = format!(
        "[web]\nlisten = [\"192.168.1.1:80\", \"192.168.2.1:80\"]\ninsecure = true\n\
         password = {password:?}\n"
    );
    let weir = Weir::start(router, &config, &[])?;
    let mut set = Command::new(weir_tests::binary());
    set.args(["passwd", "--stdin", "--file"]).arg(&password);
    let set = fed(&mut set, PASSWORD)?;
    assert!(set.status.success(), "{set:?}");
    let guesser = text(mac("client", "eth0"));
    wait_until("the client is known", LIMIT, || {
        log_in(client, &addresses[0], "192.168.1.1", "x")?;
        let known = |device: &Device| device.mac == guesser && !device.addresses.is_empty();
        let devices = weir.client()?.devices();
        let devices = devices.map_err(|error| Error::Unexpected(error.to_string()))?;
        Ok(devices.devices.iter().any(known))
    })?;
    let tries = (0..TRIES).map(|number| {
        let from = &addresses[number % addresses.len()];
        log_in(client, from, "192.168.1.1", "not the password")
    });
    let tries = tries.collect::<Result<Vec<_>, Error>>()?;
    // Five tries at once per device under any of its addresses, whatever a network may.
    let tried = tries.iter().filter(|code| *code == "401").count();
    assert!(
        tried <= 5
            && tries
                .iter()
                .all(|code| ["401", "429"].contains(&code.as_str())),
        "{tries:?}"
    );
    assert_eq!(
        log_in(other, "192.168.2.2", "192.168.2.1", PASSWORD)?,
        "200"
    );
    Ok(())
}

/// Runs a program with this line as its input.
fn fed(command: &mut Command, line: &str) -> Result<Output, Error> {
    let system = || Error::system("run weir passwd");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(system())?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{line}").map_err(system())?;
    }
    child.wait_with_output().map_err(system())
}
