//! User data of devices: given names, owners and icons, and the maker of a device.

use std::net::SocketAddr;
use std::process::{Command, Output};

use answers::{Device, LabelledDevice};
use lab::namespace::wait_until;
use lab::transfer::ask_tcp;
use lab::{Error, topology, unexpected};
use testing::Directory;
use weir_tests::LIMIT;

use super::{ECHO, Runs, Scene};

impl Scene {
    /// Runs `weir device` with these arguments.
    fn device_command(&self, arguments: &[&str]) -> Result<Output, Error> {
        let mut command = Command::new(weir_tests::binary());
        command.arg("device").args(arguments);
        command.arg("--socket").arg(self.weir.socket());
        command.output().map_err(Error::system("run weir device"))
    }

    /// Waits for the client's device.
    fn seen(&self, mac: &str) -> Result<Device, Error> {
        let mut found = None;
        let to = SocketAddr::new(self.lab.arrangement().server(false), ECHO);
        wait_until("the device is seen", LIMIT, || {
            ask_tcp(self.client()?, to, b"x")?;
            let mut devices = self.devices()?.devices.into_iter();
            found = devices.find(|device| device.mac == mac);
            Ok(found.is_some())
        })?;
        found.ok_or_else(|| Error::Unexpected(format!("no {mac}")))
    }
}

#[test]
fn a_device_is_called_as_somebody_says() -> Result<(), Error> {
    let folder = Directory::new();
    let mac = topology::text(topology::mac("client", "eth0"));
    let client = lab::gateway::CLIENT.to_string();
    let (leases, choices) = (folder.join("leases"), folder.join("kept/devices"));
    let lease = format!("2000000000 {mac} {client} laptop 01:{mac}\n");
    std::fs::write(&leases, lease).map_err(Error::system("write leases"))?;
    let config = format!("[monitor]\nleases = [{leases:?}]\nchoices = {choices:?}\n");
    let mut scene = Scene::begin(Runs::Alone, &config)?;
    let seen = scene.seen(&mac)?;
    assert_eq!((seen.vendor.as_deref(), seen.local_mac), (None, true));
    wait_until("the lease is read", LIMIT, || {
        Ok(scene.seen(&mac)?.name.as_deref() == Some("laptop"))
    })?;

    // Finds the device by address, name, or hardware address.
    for arguments in [
        &["rename", &client, "kitchen radio"][..],
        &["owner", "Kitchen RADIO", "Anna"],
        &["icon", &mac, "speaker"],
    ] {
        let ran = scene.device_command(arguments)?;
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    }
    // Renames an unseen device too; the name survives a restart.
    let other = "02:00:5e:10:00:99";
    let ran = scene.device_command(&["rename", other, "the other", "--json"])?;
    let labelled: LabelledDevice = serde_json::from_slice(&ran.stdout)
        .map_err(|error| Error::Unexpected(format!("{error}: {ran:?}")))?;
    assert_eq!(labelled.name.as_deref(), Some("the other"));
    let router = scene.lab.node("router")?;
    scene.weir.restart_with(router, &["--only", "monitor"])?;
    let seen = scene.seen(&mac)?;
    let said = [&seen.name, &seen.name_source, &seen.owner, &seen.icon];
    let said = said.map(|text| text.as_deref().unwrap_or_default());
    assert_eq!(said, ["kitchen radio", "given", "Anna", "speaker"]);
    let kept = std::fs::read_to_string(&choices).map_err(Error::system("read choices"))?;
    assert!(
        kept.contains(other) && kept.contains("name = \"the other\""),
        "{kept}"
    );

    // A device that was not seen since is still known by its name.
    let ran = scene.device_command(&["rename", "The OTHER", "d7"])?;
    assert!(ran.status.success(), "{ran:?}");

    // The configuration's name takes precedence and cannot be changed elsewhere.
    let fixed = format!("{config}[devices.{mac:?}]\nname = \"from the file\"\n");
    std::fs::write(scene.weir.config_file(), fixed).map_err(Error::system("write"))?;
    scene.weir.client()?.reload().map_err(unexpected)?;
    let seen = scene.seen(&mac)?;
    assert_eq!(seen.name.as_deref(), Some("from the file"));
    assert_eq!(seen.configured, ["name"]);
    let ran = scene.device_command(&["rename", &mac, "again"])?;
    let error = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("[devices.\"{mac}\"]")), "{error}");
    // All given data is removed; the configuration's data stays.
    let ran = scene.device_command(&["forget", &mac])?;
    assert!(ran.status.success(), "{ran:?}");
    let seen = scene.seen(&mac)?;
    assert_eq!((seen.owner, seen.icon), (None, None));
    assert_eq!(seen.name.as_deref(), Some("from the file"));

    // If the file is not writable, the command and from then on the status report that. The same
    // holds for a quota of an unknown name.
    let quota = format!("{config}[quotas.nobody]\nlimit = \"1GB\"\n");
    std::fs::write(scene.weir.config_file(), quota).map_err(Error::system("write"))?;
    let changed = scene.weir.client()?.reload().map_err(unexpected)?.changed;
    assert!(changed.iter().any(|change| change.key.ends_with(".name")));
    assert!(
        changed.iter().all(|change| change.from != change.to),
        "{changed:?}"
    );
    let kept = folder.join("kept");
    std::fs::rename(&kept, folder.join("away")).map_err(Error::system("move a folder"))?;
    let ran = scene.device_command(&["rename", &mac, "again"])?;
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(error.contains("cannot be stored yet"), "{error}");
    let parts = |scene: &Scene| -> Result<Vec<String>, Error> {
        let problems = scene.weir.status()?.problems.into_iter();
        Ok(problems.map(|trouble| trouble.part).collect())
    };
    assert_eq!(parts(&scene)?, ["devices", "quotas"]);
    // weir tries again.
    std::fs::rename(folder.join("away"), &kept).map_err(Error::system("move a folder"))?;
    wait_until("it is written", LIMIT, || Ok(parts(&scene)? == ["quotas"]))?;
    let text = std::fs::read_to_string(&choices).map_err(Error::system("read choices"))?;
    assert!(text.contains("name = \"again\""), "{text}");

    // A folder with foreign files stays unchanged.
    let elsewhere = config.replace(&format!("{choices:?}"), &format!("{kept:?}"));
    std::fs::write(scene.weir.config_file(), elsewhere).map_err(Error::system("write"))?;
    scene
        .weir
        .restart_with(scene.lab.node("router")?, &["--only", "monitor"])?;
    assert_eq!(parts(&scene)?, ["devices"]);
    assert!(choices.is_file());

    // A hardware address of a known maker.
    let mac = "b8:27:eb:00:00:01";
    scene
        .client()?
        .run(&format!("ip link set eth0 address {mac}"))?;
    let seen = scene.seen(mac)?;
    assert_eq!(seen.vendor.as_deref(), Some("Raspberry Pi Foundation"));
    assert!(!seen.local_mac);
    Ok(())
}
