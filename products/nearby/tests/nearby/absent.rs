//! Without Bluetooth the program ends with the reason.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::Error;

use crate::scene::{self, Scene};

/// Runs it by an adapter that is nowhere.
fn run(folder: &Path, variables: &[(&str, &str)]) -> Result<Output, Error> {
    let mut command = Command::new(scene::program());
    command.arg("--socket").arg(folder.join("socket"));
    command.args(["run", "--adapter", "hci7", "--state"]);
    command.arg(folder.join("state"));
    command.envs(variables.iter().copied());
    command.output().map_err(Error::system("run weir-nearby"))
}

/// Checks for a failure with one sentence that begins like this.
fn refused(out: &Output, begin: &str) {
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.starts_with(begin), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "");
}

#[test]
fn without_a_bus_it_says_that_there_is_no_bluetooth_service() -> Result<(), Error> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nearby-no-bus");
    let nowhere = format!("unix:path={}", folder.join("no-bus").display());
    let out = run(&folder, &[("DBUS_SYSTEM_BUS_ADDRESS", &nowhere)])?;
    refused(&out, "weir-nearby: no Bluetooth service on this machine: ");
    Ok(())
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn bluetooth_without_the_adapter_names_those_that_there_are() -> Result<(), Error> {
    scene::tried("absent", |scene: &mut Scene| {
        let adapter = scene.adapter()?;
        let out = run(scene.folder(), &[])?;
        let text = format!(
            "weir-nearby: no Bluetooth adapter hci7; there is {}",
            adapter.name
        );
        refused(&out, &text);
        Ok(())
    })
}
