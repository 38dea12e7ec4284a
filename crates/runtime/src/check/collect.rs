//! Inspects the machine with the daemon's own code, without a daemon.

use std::hash::RandomState;
use std::path::PathBuf;

use answers::{Port, RuleCost, Status};
use api::Client;
use kernel::io::{Requests, SetError, read_members, read_next_hops};
use kernel::{Event, Link, Source, facts};

use super::report::{Check, CheckReport, Feature};
use super::{devices, features, firewall, netfilter};
use crate::Error;
use crate::config::Effective;
use crate::daemon::config::Offload;
use crate::daemon::expiry::ROUTES;
use crate::daemon::ruleset;
use crate::daemon::settings;
use crate::daemon::system_state::SystemState;

/// Options of the check.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Socket where a daemon may answer; the check works without a daemon.
    pub socket: PathBuf,
    /// Tables of nftables that are modules' own.
    pub tables: Vec<&'static str>,
}

/// Inspects kernel, devices and firewall for this configuration. Changes nothing: features are
/// tried in a temporary network namespace.
///
/// # Errors
/// The event loop cannot be created, or the devices cannot be listed.
pub fn collect(
    checks: &[Check],
    config: &Effective,
    options: &Options,
) -> Result<CheckReport, Error> {
    // Before the event loop: the client has one of its own, and modules may have.
    let client = Client::new(&options.socket).ok();
    let running = client.as_ref().and_then(running);
    let daemon = client.filter(|_| running.is_some());
    let mut of_modules = Vec::new();
    for check in checks {
        of_modules.extend(check(config, daemon.as_ref())?);
    }
    let runtime = crate::event_loop()?;
    runtime.block_on(look(
        config,
        running.as_ref(),
        of_modules,
        options.tables.clone(),
    ))
}

async fn look(
    config: &Effective,
    running: Option<&Running>,
    of_modules: Vec<Feature>,
    tables: Vec<&'static str>,
) -> Result<CheckReport, Error> {
    let release = kernel::release::release();
    let mut features = features::of_bpf(&release);
    let mut requests = Requests::open();
    features.extend(netfilter::features(requests.as_mut().ok()).await);

    let mut surroundings = SystemState::open();
    let ruleset = ruleset::read_ruleset(tables).await;
    let readable = ruleset.as_ref().map(|_| ()).map_err(Clone::clone);
    let ruleset_read = ruleset.is_ok();
    let (findings, silent) = ruleset
        .map(|text| (text.findings, text.silent))
        .unwrap_or_default();
    surroundings.findings = findings;
    features.extend(features::around(
        config,
        surroundings.knows_drivers(),
        readable,
    ));

    features.extend(of_modules);

    let links = match &mut requests {
        Ok(requests) => links(requests).await.map_err(|why| {
            Error::new(format!("cannot list the devices: {why}"), "run it as root")
        })?,
        Err(error) => {
            return Err(Error::with_cause(
                "cannot query the kernel",
                error,
                "run it as root",
            ));
        }
    };
    let settings = settings::offload_settings(config, *config.of::<Offload>().shadow);
    let legacy = facts::legacy_tables().unwrap_or_default();
    let mut firewall = firewall::findings(&surroundings.findings, &legacy);
    // Without the privilege to list the programs, the list is empty.
    firewall.extend(firewall::programs(
        &datapath::netfilter_programs().unwrap_or_default(),
    ));
    let hops = read_next_hops(ROUTES).unwrap_or_default();
    firewall.extend(firewall::routes(&hops.programs));
    firewall::cost(&mut firewall, running.map_or(&[], |told| &told.rules));
    let hasher = RandomState::new();
    let silent = match settings.each_packet {
        true => silent,
        false => silent.ignoring(),
    };
    firewall.extend(firewall::silent(&silent, |name, most| {
        matches!(
            read_members(name, most, &hasher),
            Err(SetError::TooLarge(_))
        )
    }));
    Ok(CheckReport {
        kernel: release,
        running: running.is_some(),
        features,
        ruleset_read,
        devices: devices::plan(
            &links,
            &mut surroundings,
            &settings,
            running.map(|told| &*told.ports),
        ),
        firewall,
    })
}

/// All devices of this network namespace.
async fn links(requests: &mut Requests) -> Result<Vec<Link>, String> {
    requests.dump(Source::Route);
    let mut found = Vec::new();
    loop {
        netfilter::answer(requests, &mut found).await?;
        let end = |event: &Event| {
            matches!(
                event,
                Event::DumpEnd(Source::Route) | Event::Overrun(Source::Route)
            )
        };
        if found.iter().any(end) {
            break;
        }
    }
    let links = found.into_iter().filter_map(|event| match event {
        Event::Link(link) => Some(link),
        _ => None,
    });
    Ok(links.collect())
}

/// Answers of a daemon that runs in this network namespace.
struct Running {
    /// Ports, with the plan that the daemon made for each.
    ports: Vec<Port>,
    /// Costs of the rules that see each packet.
    rules: Vec<RuleCost>,
}

fn running(client: &Client) -> Option<Running> {
    let here = api::path::netns_inode().ok()?;
    // A socket that was named may be that of another namespace's daemon.
    let status: Status = client.get("/v1/status").ok()?;
    if status.netns != here {
        return None;
    }
    Some(Running {
        ports: client.get("/v1/ports").ok()?,
        rules: status
            .each_packet
            .map(|told| told.rules)
            .unwrap_or_default(),
    })
}
