//! `weir setup debian`: applies the configuration to Debian's services.

mod machine;
mod write;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ::uci::Package;
use clap::Args;
use setup_core::debian::{
    self, Access, Content, Machine, PACKAGES, Packages, Rendering, Service, commands,
};

use runtime::Error;
use runtime::output::{Output, sanitize};

#[derive(Args, Debug)]
pub struct DebianArgs {
    /// Changed packages: print notes about unsupported settings only for these [default: all]
    packages: Vec<String>,
    /// Folder to write files into, in place of /
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Show the files, without secrets, and the commands that would run
    #[arg(long, conflicts_with = "files")]
    dry_run: bool,
    /// Write files without notifying services: for boot, before services start
    #[arg(long)]
    files: bool,
    /// Pass each command to PROGRAM, as arguments, if systemd does not run the services
    #[arg(long, value_name = "PROGRAM")]
    run: Option<PathBuf>,
}

/// Renders the configuration in `config`, and reloads services whose files changed.
///
/// A service that could not be reloaded is reloaded by the next call, even without changed files:
/// when the old configuration returns, every affected service reads it.
pub fn run(args: &DebianArgs, config: &Path, output: &mut Output<'_>) -> Result<(), Error> {
    let outcome = render(config)?;
    let named = |at: &str| {
        let package = at.split('.').next().unwrap_or_default();
        args.packages.is_empty() || args.packages.iter().any(|name| name == package)
    };
    for note in outcome.notes.iter().filter(|note| named(&note.at)) {
        // The user who applies a change sees only the standard error of this program.
        eprintln!("{}", sanitize(&note.to_string()));
    }
    zones(&args.root, &outcome)?;
    let difference = write::difference(&args.root, &outcome)?;
    let present = outcome.services();
    if args.dry_run {
        return show(args, &outcome, &difference.services, output);
    }
    let untold = write::PendingReloads::open(&args.root)?;
    let mut services = untold.services()?;
    services.extend(difference.services.iter().cloned());
    // Before the first file: if this process is killed below, the next one reloads them.
    untold.set(&services)?;
    difference.write(&args.root)?;
    if !args.files {
        tell(args, &outcome, &services, &present)?;
    }
    untold.set(&BTreeSet::new())
}

/// Renders the packages in a folder.
fn render(config: &Path) -> Result<Rendering, Error> {
    let mut packages = Packages::new();
    for name in PACKAGES {
        let path = config.join(name);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let what = format!("cannot read {}", path.display());
                return Err(Error::with_cause(what, &error, "run it as root"));
            }
        };
        let package = Package::read(name, &text).map_err(|error| {
            let what = format!("cannot read {name}");
            Error::with_cause(what, &error, "fix the file")
        })?;
        packages.insert(name.to_owned(), package);
    }
    if packages.is_empty() {
        let what = format!("no configuration in {}", config.display());
        return Err(Error::new(what, "name the folder: `root` under [setup]"));
    }
    debian::render(&packages, &machine::facts()).map_err(|faults| {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let cause = io::Error::other(lines.join("\n"));
        let what = "cannot render the configuration: nothing was written";
        Error::with_cause(what, &cause, "correct these with `weir uci set`")
    })
}

/// Refuses a time zone that the machine does not know.
fn zones(root: &Path, outcome: &Rendering) -> Result<(), Error> {
    for file in &outcome.files {
        if let Content::Link(to) = &file.content
            && !Path::new(to).exists()
            && !write::under(root, to).exists()
        {
            let what = format!("system.zonename: no {to}");
            return Err(Error::new(
                what,
                "install the package tzdata, or name another",
            ));
        }
    }
    Ok(())
}

/// Returns the commands that reload services.
fn words(
    args: &DebianArgs,
    outcome: &Rendering,
    services: &BTreeSet<Service>,
    present: &BTreeSet<Service>,
) -> Vec<Vec<String>> {
    let mut files = outcome.files.iter();
    let host = files.find_map(|file| match &file.content {
        Content::Text(text) if file.path == "etc/hostname" => Some(text.trim()),
        _ => None,
    });
    let root = args.root.to_string_lossy();
    let machine = Machine {
        root: root.trim_end_matches('/'),
        host,
        devices: machine::devices(),
    };
    commands(services, present, &machine)
}

/// Reloads services. A failure does not stop the others.
fn tell(
    args: &DebianArgs,
    outcome: &Rendering,
    services: &BTreeSet<Service>,
    present: &BTreeSet<Service>,
) -> Result<(), Error> {
    let mut failed = Vec::new();
    for words in words(args, outcome, services, present) {
        let (may_fail, words) = match words.split_first() {
            Some((first, rest)) if first == "-" => (true, rest),
            _ => (false, &words[..]),
        };
        let told = one(args.run.as_deref(), words);
        if let Some(why) = told.err().filter(|_| !may_fail) {
            failed.push(format!("{}: {why}", words.join(" ")));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let cause = io::Error::other(failed.join("\n"));
    let hint = "the next `weir setup debian` notifies all of them again";
    Err(Error::with_cause(
        "services refuse their files",
        &cause,
        hint,
    ))
}

/// Runs one command.
fn one(runner: Option<&Path>, words: &[String]) -> io::Result<()> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let mut command = match runner {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    let done = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.trim();
    Err(io::Error::other(format!("{}: {said}", done.status)))
}

/// Prints files and commands, without executing anything.
fn show(
    args: &DebianArgs,
    outcome: &Rendering,
    services: &BTreeSet<Service>,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    for file in &outcome.files {
        let access = match file.access {
            Access::All => "0644",
            Access::Root => "0600",
            Access::Network => "0640, group systemd-network",
        };
        output.line(&format!("/{} ({access})", file.path))?;
        for line in file.shown().lines() {
            output.line(&format!("  {}", sanitize(&line.replace('\t', "    "))))?;
        }
    }
    for words in words(args, outcome, services, &outcome.services()) {
        let words = words.strip_prefix(&["-".to_owned()]).unwrap_or(&words);
        output.line(&format!("run: {}", words.join(" ")))?;
    }
    Ok(())
}
