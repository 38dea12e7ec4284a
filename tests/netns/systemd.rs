//! Router and partner run by the shipped units, each under its own systemd: the units forbid
//! nothing that a service needs. Runs only in a machine, whose first process is a systemd.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use answers::Paths;
use lab::namespace::{Process, wait_until};
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER};
use lab::{Error, Namespace, Uplinks};
use weir_tests::client::Client;
use weir_tests::{LIMIT, binary};

/// Pause between two commands of a poll.
const PAUSE: Duration = Duration::from_secs(2);

/// `$1`: name; `$2`: unit; `$3`: program. Its files are in memory, and vanish with it.
const MACHINE: &str = r#"
set -e
mkdir -p "/sys/fs/cgroup/$1" /etc/weir
echo $$ > "/sys/fs/cgroup/$1/cgroup.procs"
touch /usr/bin/weir
exec unshare --mount --pid --fork --mount-proc --cgroup --kill-child sh -c '
set -e
mount --make-rprivate /
for folder in /run /var/lib /etc/weir /etc/systemd/system; do mount -t tmpfs tmpfs $folder; done
mount --bind "/sys/fs/cgroup/$1" /sys/fs/cgroup
# They make indexes that nobody reads here, with the only processor.
for unit in systemd-hwdb-update systemd-journal-catalog-update ldconfig; do
  ln -s /dev/null /etc/systemd/system/$unit.service
done
mount --bind "$3" /usr/bin/weir
cp "$2" /etc/systemd/system/
unit=$(basename "$2")
printf "[Unit]\nWants=$unit\nAfter=$unit\n" > /etc/systemd/system/lab.target
cp "$4" /etc/weir/weir.toml
# It is emptied as this begins, and others have files there, maybe all of those above.
cd /
mount -t tmpfs tmpfs /tmp
exec env container=lab /lib/systemd/systemd --unit=lab.target' sh "$@"
"#;

struct Machine {
    process: Process,
    init: String,
}

impl Machine {
    fn start(node: &Namespace, unit: &str, config: &str) -> Result<Self, Error> {
        let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging");
        let file = std::env::temp_dir().join(format!("{}.toml", node.name()));
        fs::write(&file, config).map_err(Error::system("write a configuration"))?;
        let mut command = Command::new("bash");
        command
            .args(["-c", MACHINE, "machine", node.name()])
            .args([&units.join(unit), &binary(), &file])
            .stdin(Stdio::null());
        let process = node.start(&mut command)?;
        let mut init = String::new();
        wait_until("the first process", LIMIT, || {
            let told = node.run(&format!("pgrep -P {}", process.id()));
            init = told.unwrap_or_default().trim().to_owned();
            Ok(!init.is_empty())
        })?;
        let machine = Self { process, init };
        wait_until("the unit", 3 * LIMIT, || {
            // The machine needs the only processor more than this test.
            std::thread::sleep(PAUSE);
            if let Some(status) = machine.process.ended()? {
                return Err(Error::Unexpected(format!("systemd ended: {status}")));
            }
            Ok(machine.run(&["systemctl", "is-active", unit]).is_ok())
        })
        .map_err(|error| {
            let told = machine.run(&["systemctl", "--no-pager", "status", unit]);
            Error::Unexpected(format!("{error}\n{told:?}"))
        })?;
        Ok(machine)
    }

    fn run(&self, words: &[&str]) -> Result<String, Error> {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.init, "-m", "-p", "-n", "-C"]);
        let told = command.args(words).stdin(Stdio::null()).output();
        let told = told.map_err(Error::system(words.join(" ")))?;
        let text = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        match told.status.success() {
            true => Ok(text),
            false => Err(Error::Unexpected(format!(
                "{}: {text} {}",
                words.join(" "),
                String::from_utf8_lossy(&told.stderr)
            ))),
        }
    }

    /// Returns the paths by the socket, as each command loads a slow machine.
    fn paths(&self) -> Result<Paths, Error> {
        let socket = format!("/proc/{}/root/run/weir/weir.sock", self.init);
        let told = Client::new(Path::new(&socket)).and_then(|client| client.paths());
        told.map_err(|error| Error::Unexpected(error.to_string()))
    }

    /// Returns a line from `/proc` about a unit's first process.
    fn of(&self, unit: &str, name: &str) -> Result<String, Error> {
        let pid = self.run(&["systemctl", "show", "-P", "MainPID", unit])?;
        let status = self.run(&["cat", &format!("/proc/{pid}/status")])?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.unwrap_or_default().trim().to_owned())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.process.stop();
    }
}

#[test]
#[ignore = "needs a machine of its own: run by tests/vm/run"]
fn by_their_units_router_and_partner_carry_what_clients_send() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[50, 50]))?;
    let (router, partner) = (uplinks.router(), uplinks.partner());
    let there = Machine::start(partner, "weir-partner.service", "")?;
    let address = PARTNER.to_string();
    let line = there.run(&["weir", "multipath", "pair", &address, "--name", "home"])?;
    assert_ne!(
        there.of("weir-partner", "Uid:")?.split('\t').next(),
        Some("0")
    );
    assert_eq!(there.of("weir-partner", "CapEff:")?, "0000000000001000");
    assert_eq!(there.of("weir-partner", "Seccomp:")?, "2");

    let config = format!("[multipath]\npartner = \"{line}\"\nfallback = \"stop\"\n");
    let here = Machine::start(router, "weir.service", &config)?;
    wait_until("the tunnel", 2 * LIMIT, || {
        let told = here.paths()?;
        Ok(told.redirects && told.tunnel && told.keyless.is_none())
    })
    .map_err(|error| Error::Unexpected(format!("{error}\n{:?}", here.paths())))?;
    let _echo = Echo::serve(uplinks.server(), (SERVER, 5000).into())?;
    let to = (SERVER, 5000).into();
    assert_eq!(ask_tcp(uplinks.client(), to, b"hello")?, b"hello");
    let told = uplinks
        .client()
        .run(&format!("ping -c 2 -i 0.2 -W 5 {SERVER}"))?;
    assert!(told.contains("2 received"), "{told}");
    let told = here.paths()?;
    assert!(
        told.connections.all > 0 && told.connections.direct == 0,
        "{told:?}"
    );
    assert!(
        there
            .run(&["weir", "multipath", "list"])?
            .contains(" paired ")
    );

    // Restarts both with their stored state.
    there.run(&["systemctl", "restart", "weir-partner"])?;
    here.run(&["systemctl", "restart", "weir"])?;
    wait_until("the tunnel", 2 * LIMIT, || {
        let told = here.paths();
        Ok(told.is_ok_and(|told| told.redirects && told.tunnel))
    })?;
    assert_eq!(ask_tcp(uplinks.client(), to, b"again")?, b"again");
    there.run(&["systemctl", "stop", "weir-partner"])?;
    assert!(!partner.run("nft list tables")?.contains("weir_partner"));
    Ok(())
}
