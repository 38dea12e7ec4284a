//! `weir device rename` and related commands: labels that people give to a device.

use answers::{DeviceLabel, LabelledDevice};
use api::{Client, Method};
use clap::{Args, Subcommand};

use history::devices::Icon;
use runtime::Error;
use runtime::command::device_names::mac_of;
use runtime::output::{Output, sanitize};

#[derive(Debug, Subcommand)]
pub enum LabelCommand {
    Rename(RenameArgs),
    Owner(OwnerArgs),
    Icon(IconArgs),
    Forget(ForgetArgs),
}

/// Name a device, overriding the name that it reports
#[derive(Args, Debug)]
pub struct RenameArgs {
    /// The device: hardware address, name or IP address
    #[arg(value_name = "DEVICE")]
    called: String,
    /// Its name from now on; "" takes the given one away
    #[arg(value_name = "NAME")]
    name: String,
}

/// Set the owner or the location of a device
#[derive(Args, Debug)]
pub struct OwnerArgs {
    /// The device: hardware address, name or IP address
    #[arg(value_name = "DEVICE")]
    called: String,
    /// Owner; "" removes it
    #[arg(value_name = "OWNER")]
    owner: String,
}

/// Set the icon of a device on the page
#[derive(Args, Debug)]
pub struct IconArgs {
    /// The device: hardware address, name or IP address
    #[arg(value_name = "DEVICE")]
    called: String,
    /// Kind of device
    #[arg(value_name = "ICON", value_parser = Icon::WORDS.into_iter().chain(["none"]).collect::<Vec<_>>())]
    icon: String,
}

/// Remove the given name, owner and icon of a device
#[derive(Args, Debug)]
pub struct ForgetArgs {
    /// The device: hardware address, name or IP address
    #[arg(value_name = "DEVICE")]
    called: String,
}

impl LabelCommand {
    /// Returns the device and its new label.
    fn said(&self) -> (&str, DeviceLabel) {
        let none = DeviceLabel::default();
        match self {
            Self::Rename(args) => {
                let name = Some(args.name.clone());
                (&args.called, DeviceLabel { name, ..none })
            }
            Self::Owner(args) => {
                let owner = Some(args.owner.clone());
                (&args.called, DeviceLabel { owner, ..none })
            }
            Self::Icon(args) => {
                let word = if args.icon == "none" { "" } else { &args.icon };
                let icon = Some(word.to_owned());
                (&args.called, DeviceLabel { icon, ..none })
            }
            Self::Forget(args) => {
                let [name, owner, icon] = [(); 3].map(|()| Some(String::new()));
                (&args.called, DeviceLabel { name, owner, icon })
            }
        }
    }
}

/// Says it.
///
/// # Errors
/// No device is called so, or the daemon refuses.
pub fn run(
    what: &LabelCommand,
    client: &Client,
    json: bool,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let (called, mut label) = what.said();
    let mac = match answers::monitor::normal_mac(called) {
        // The device need not have been seen.
        Some(mac) => mac,
        None => mac_of(&client.get("/v1/devices")?, called)?,
    };
    let path = format!("/v1/devices/{mac}/label");
    if matches!(what, LabelCommand::Forget(_)) {
        // Settings of the configuration stay.
        let holds: LabelledDevice = client.send(Method::POST, &path, &DeviceLabel::default())?;
        for word in &holds.configured {
            match &**word {
                "name" => label.name = None,
                "owner" => label.owner = None,
                _ => label.icon = None,
            }
        }
    }
    let labelled: LabelledDevice = client.send(Method::POST, &path, &label)?;
    if json {
        return Ok(output.json(&labelled)?);
    }
    let mut parts = vec![match &labelled.name {
        Some(name) => format!("is called {}", sanitize(name)),
        None => "has no given name".to_owned(),
    }];
    parts.extend(
        labelled
            .owner
            .map(|owner| format!("belongs to {}", sanitize(&owner))),
    );
    parts.extend(
        labelled
            .icon
            .map(|icon| format!("is shown as {}", sanitize(&icon))),
    );
    Ok(output.line(&format!("{} {}", labelled.mac, parts.join(", ")))?)
}
