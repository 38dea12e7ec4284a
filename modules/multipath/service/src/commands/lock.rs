//! `weir multipath lock` and `unlock`: clients' traffic leaves by the partner only, even while weir
//! does not run.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;
use kernel::Prefix;
use kernel::io::Policy;
use multipath_core::Pairing;
use multipath_core::io::{self as paths, LockError};
use multipath_core::lock::{Lock, PartnerAddresses};
use multipath_core::reach::LOCAL;

use crate::config::{Fallback, Multipath};
use crate::tun::DEVICE;
use runtime::Error;
use runtime::config::{DEFAULT_FILE, DeviceName};
use runtime::output::Output;
use runtime::registry::Context;

/// Block client traffic that bypasses the partner, even without weir
///
/// Writes firewall rules, loads them, and stores them in `lock.nft` next to the configuration. weir
/// restores the rules if they are removed, and the service `weir-lock` loads them at each boot.
/// Clients reach the devices named here, the tunnel, and the exceptions `direct`, `direct_ports`
/// and `direct_devices` of the configuration; private networks are not included. This router
/// reaches the partner, and otherwise only what its uplinks need; its DNS queries go through the
/// tunnel. Run the command again after the partner's addresses or the exceptions changed.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir multipath lock br-lan              clients are at br-lan
  weir multipath lock                     again, with the same devices
  nft list table inet weir_lock           show the resulting rules
  weir multipath unlock")]
pub struct LockArgs {
    /// Devices that lead to clients, without uplinks [default: the devices of the existing lock]
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,
    #[command(flatten)]
    config: Configuration,
}

/// Remove the lock, now and for the next boot
#[derive(Args, Debug)]
pub struct UnlockArgs {
    #[command(flatten)]
    config: Configuration,
}

#[derive(Args, Debug)]
struct Configuration {
    /// Configuration file [default: /etc/weir/weir.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Configuration {
    /// Returns the file of the lock.
    fn lock(&self) -> PathBuf {
        file(self.config.as_deref().unwrap_or(Path::new(DEFAULT_FILE)))
    }
}

/// Returns the path of the lock's file: in the folder of the configuration.
pub fn file(config: &Path) -> PathBuf {
    config.with_file_name("lock.nft")
}

pub fn lock(args: &LockArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let mut source = context.registry.source();
    source.file.clone_from(&args.config.config);
    let effective = source.load()?;
    let multipath = effective.of::<Multipath>();
    let pairings = multipath.pairings();
    if pairings.is_empty() {
        return Err(Error::new(
            "cannot lock: no partner is configured, so no traffic could leave",
            "set `partner` under [multipath] of the configuration",
        ));
    }
    if *multipath.fallback != Fallback::Stop {
        return Err(Error::new(
            "cannot lock: while the partner cannot be reached, connections would go directly, and \
                the lock would break them",
            "set fallback = \"stop\" under [multipath], and `weir reload`",
        ));
    }
    let file = args.config.lock();
    let before = fs::read_to_string(&file).ok();
    let before = before.as_deref().and_then(Lock::read);
    // The kernel is queried from within an event loop.
    let lock = runtime::event_loop()?.block_on(async {
        let lock = Lock {
            lan: Devices::now()?.chosen(&args.devices, before.as_ref())?,
            partners: pairings
                .iter()
                .map(|pairing| reached(pairing, before.as_ref()))
                .collect::<Result<_, _>>()?,
        };
        let text = lock.file(DEVICE, &multipath.choice());
        let locked = paths::lock(&file, &text).await;
        let refused = |error| refused("cannot lock this router", &error);
        locked.map_err(refused)?;
        Ok::<_, Error>(lock)
    })?;
    let of = lock.lan.join(" and ");
    let at = lock.partners.iter().flat_map(|it| &it.addresses);
    let at: Vec<_> = at.map(ToString::to_string).collect();
    context.output.line(&format!(
        "locked: traffic of {of} leaves only through the partner, at {}",
        at.join(" and ")
    ))?;
    for (what, hint) in doubts(&file, multipath).unwrap_or_default() {
        eprintln!("weir: warning: {what}\n  Hint: {hint}");
    }
    Ok(())
}

pub fn unlock(args: &UnlockArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let file = args.config.lock();
    let unlocking = paths::unlock(&file);
    let was = runtime::event_loop()?.block_on(unlocking);
    match was.map_err(|error| refused("it is still locked", &error))? {
        true => output.line("unlocked: weir and the routes decide about clients' traffic")?,
        false => output.line("there was no lock")?,
    }
    Ok(())
}

fn refused(what: &str, error: &LockError) -> Error {
    let hint = match error {
        LockError::File { .. } => "run this as root",
        LockError::Rules(_) => {
            "run this as root; `weir check` lists features that the firewall lacks"
        }
    };
    Error::with_cause(what, error, hint)
}

/// Devices of this machine, by name.
struct Devices {
    all: Vec<String>,
    uplinks: Vec<String>,
    /// With an address, and not an uplink now.
    others: Vec<String>,
}

impl Devices {
    /// Reads the current devices, within an event loop.
    fn now() -> Result<Self, Error> {
        let picture = Policy::open().map_err(|error| error.to_string());
        let picture = picture.and_then(|mut policy| policy.snapshot().map_err(|e| e.to_string()));
        let picture = picture.map_err(|error| {
            let what = format!("cannot read this machine's devices: {error}");
            Error::new(what, "run this as root")
        })?;
        let uplinks: Vec<_> = picture.uplinks().into_iter().map(|it| it.name).collect();
        let with_address = |index| picture.addresses.iter().any(|held| held.link == index);
        let others = picture.links.iter().filter(|link| {
            let is_own = link.name == "lo" || link.name == DEVICE;
            !is_own && with_address(link.index) && !uplinks.contains(&link.name)
        });
        Ok(Self {
            others: others.map(|link| link.name.clone()).collect(),
            all: picture.links.into_iter().map(|link| link.name).collect(),
            uplinks,
        })
    }

    /// Returns the devices of the LAN: the named ones, otherwise those of the present lock.
    fn chosen(&self, named: &[String], before: Option<&Lock>) -> Result<Vec<String>, Error> {
        if named.is_empty() {
            let others = self.others.join(", ");
            let hint = format!(
                "name them: `weir multipath lock DEVICE`; devices with an address that are not uplinks: {others}"
            );
            let before = before.map(|before| before.lan.clone());
            return before.ok_or_else(|| Error::usage("missing devices of clients", hint));
        }
        for name in named {
            if !DeviceName::fits(name) || !self.all.contains(name) {
                return Err(Error::usage(format!("no device `{name}`"), "see `ip link`"));
            }
            if self.uplinks.contains(name) || name == DEVICE {
                return Err(Error::usage(
                    format!("`{name}` leads to the Internet: clients could bypass the lock"),
                    "name only devices of the LAN",
                ));
            }
        }
        let mut devices = named.to_vec();
        devices.sort_unstable();
        devices.dedup();
        Ok(devices)
    }
}

/// Resolves a partner. Behind a lock the look-up may fail: then the old addresses stay.
fn reached(pairing: &Pairing, before: Option<&Lock>) -> Result<PartnerAddresses, Error> {
    let partner = pairing.address();
    let found = (&*pairing.host, pairing.port).to_socket_addrs();
    let mut before = before.iter().flat_map(|lock| &lock.partners);
    let before = before.find(|before| before.partner == partner);
    match (found, before) {
        (Ok(found), _) => {
            let mut addresses: Vec<_> = found.collect();
            addresses.sort_unstable();
            addresses.dedup();
            Ok(PartnerAddresses { partner, addresses })
        }
        (Err(_), Some(before)) => Ok(before.clone()),
        (Err(error), None) => Err(Error::with_cause(
            format!("cannot resolve `{}`", pairing.host),
            &error,
            "the lock must know the partner's addresses; if this router is locked for another \
                partner, run `weir multipath unlock` first",
        )),
    }
}

/// Problem, and its remedy.
type Doubt = (String, &'static str);

/// Returns the problems of the lock in this file; `None`: the lock does not exist.
pub fn doubts(file: &Path, multipath: &Multipath) -> Option<Vec<Doubt>> {
    let text = fs::read_to_string(file).ok()?;
    let mut doubts = Vec::new();
    let choice = multipath.choice();
    let lock = Lock::read(&text).filter(|lock| {
        let pairings = multipath.pairings();
        let wanted = pairings.iter().map(Pairing::address);
        wanted.eq(lock.partners.iter().map(|it| it.partner.clone()))
            && lock.file(DEVICE, &choice) == text
    });
    if lock.is_none() {
        let what = format!("{} does not match the configuration", file.display());
        doubts.push((what, "run `weir multipath lock` again"));
    }
    if *multipath.fallback != Fallback::Stop {
        let what = "connections break while the partner cannot be reached".to_owned();
        doubts.push((
            what,
            "set fallback = \"stop\" under [multipath], so that they wait",
        ));
    }
    if at_boot() == Some(false) {
        let what = "after the next boot there is no lock until weir runs".to_owned();
        let hint = match Path::new(SYSTEMD).exists() {
            true => "`systemctl enable weir-lock`",
            false => "`/etc/init.d/weir-lock enable`",
        };
        doubts.push((what, hint));
    }
    let resolvers = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    if let Some(address) = unreached(&resolvers, &choice.networks) {
        doubts.push((
            format!(
                "this router asks for names at {address}, which is not reachable through the \
                partner"
            ),
            "use a resolver on the Internet, or add that address to `direct`",
        ));
    }
    Some(doubts)
}

const SYSTEMD: &str = "/run/systemd/system";
/// Link that makes systemd load the rules at boot.
const ENABLED: &str = "/etc/systemd/system/sysinit.target.wants/weir-lock.service";

/// Returns true if the rules are loaded at boot; `None`: unknown init system.
fn at_boot() -> Option<bool> {
    if Path::new(SYSTEMD).exists() {
        return Some(fs::symlink_metadata(ENABLED).is_ok());
    }
    let scripts: io::Result<Vec<_>> = fs::read_dir("/etc/rc.d").ok()?.collect();
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut scripts = scripts.ok()?.into_iter();
    Some(scripts.any(|entry| name(&entry).ends_with("weir-lock")))
}

/// Returns the first resolver of `resolv.conf` that is in a local network, and neither this machine
/// nor reached directly.
fn unreached(resolvers: &str, direct: &[Prefix]) -> Option<IpAddr> {
    let lines = resolvers.lines();
    let words = lines.filter_map(|line| line.strip_prefix("nameserver")?.split_whitespace().next());
    let mut addresses = words.filter_map(|word| word.parse::<IpAddr>().ok());
    addresses.find(|address| {
        let within = |networks: &[Prefix]| networks.iter().any(|it| it.contains(address));
        !address.is_loopback() && within(&LOCAL) && !within(direct)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_where_it_is_said() {
        let before = Lock {
            lan: vec!["br-lan".into()],
            partners: Vec::new(),
        };
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let devices = Devices {
            all: owned(&["lo", "br-lan", "wlan1", "wan", DEVICE]),
            uplinks: owned(&["wan"]),
            others: owned(&["br-lan", "wlan1"]),
        };
        let chosen = |named: &[&str], before| {
            let chosen = devices.chosen(&owned(named), before);
            chosen.map_err(|error| error.to_string())
        };
        assert_eq!(
            chosen(&["wlan1", "br-lan", "wlan1"], None).expect("good"),
            ["br-lan", "wlan1"]
        );
        assert_eq!(chosen(&[], Some(&before)).expect("good"), ["br-lan"]);
        assert_eq!(chosen(&["wlan1"], Some(&before)).expect("good"), ["wlan1"]);
        for (named, part) in [
            (&[][..], "missing devices of clients"),
            (&["br-lna"], "no device `br-lna`"),
            (&["\"*"], "no device"),
            (&[DEVICE], "leads to the Internet"),
            (&["br-lan", "wan"], "`wan` leads to the Internet"),
        ] {
            let error = chosen(named, None).expect_err("bad");
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_lock_is_told() {
        let folder = std::env::temp_dir().join(format!("weir-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("made");
        let written = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, text).expect("written");
            file
        };
        let key = multipath_core::Key::new(
            multipath_core::KeyId([1; 8]),
            [2; 32],
            multipath_core::PublicKey([3; 32]),
        );
        let line = Pairing::at("203.0.113.10", key).expect("an address");
        let config = |more: &str| {
            let text = format!("[multipath]\npartner = \"{line}\"\n{more}\n");
            let source = runtime::config::Source {
                file: Some(written("weir.toml", &text)),
                ..runtime::config::Source::of(crate::config::SECTIONS.to_vec())
            };
            source.load().expect("good")
        };
        let told = |more: &str| {
            let config = config(more);
            let found = doubts(&folder.join("lock.nft"), config.of());
            // Problems of this machine are listed, too.
            found.map(|all| {
                let of_machine =
                    |what: &str| what.contains("boot") || what.contains("asks for names");
                let of_lock = all.into_iter().filter(|(what, _)| !of_machine(what));
                of_lock.map(|(what, _)| what).collect::<Vec<_>>()
            })
        };
        let stop = "fallback = \"stop\"";
        assert_eq!(told(stop), None);
        let lock = Lock {
            lan: vec!["br-lan".into()],
            partners: vec![PartnerAddresses {
                partner: line.address(),
                addresses: vec!["203.0.113.10:9349".parse().expect("an address")],
            }],
        };
        let file = written(
            "lock.nft",
            &lock.file(DEVICE, &multipath_core::TrafficPolicy::default()),
        );
        assert_eq!(told(stop), Some(Vec::new()));
        let other = format!("{} does not match the configuration", file.display());
        let direct = format!("{stop}\ndirect = [\"198.51.100.0/24\"]");
        assert_eq!(told(&direct), Some(vec![other.clone()]));
        let breaks = "connections break while the partner cannot be reached".to_owned();
        assert_eq!(told(""), Some(vec![breaks]));
        written("lock.nft", "table inet weir_lock {}\n");
        assert_eq!(told(stop), Some(vec![other]));
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_resolver_at_home_is_told_of() {
        for (text, found) in [
            (
                "nameserver 127.0.0.1\nnameserver 192.168.1.1\n",
                Some("192.168.1.1"),
            ),
            ("nameserver ::1\nnameserver 9.9.9.9\nsearch lan\n", None),
            ("# nameserver 10.0.0.1\nnameserver fe80::1%eth0\n", None),
            ("nameserver\n", None),
        ] {
            let told = |direct: &[Prefix]| unreached(text, direct).map(|it| it.to_string());
            assert_eq!(told(&[]).as_deref(), found);
            let direct = "192.168.1.0/24".parse().expect("a network");
            assert_eq!(told(&[direct]), None);
        }
    }
}
