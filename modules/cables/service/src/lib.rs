//! Cables: finds the system at the other end of each cable, and the role of its port.

mod administrator;
mod choices;
mod command;
mod conditions;
pub mod config;
mod events;
mod hello_port;
mod loop_prober;
pub mod metrics;
mod move_state;
mod mover;
mod observed_port;
mod probe;
mod show;
mod system_state;
mod watch;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use answers::{Cable, CableEvents, CableEventsQuery, CableRole, PartProblem};
use api::metrics::Exposition;
use api::{AccessLevel, ApiRequest, EmptyBody, Method, Problem, ResponseFuture, Route};
use cables_core::Role;
use caps::Capability;
use datapath::cable::Cables;
use serde_json::Value;
use tracing::error;

use administrator::Administrator;
use choices::Choices;
use config::{ForeignServers, Mode};
use hello_port::Keys;
use runtime::Error;
use runtime::config::Effective;
use runtime::daemon::{
    ApiContext, Event, Finding, Module, Privileges, Report, Router, Setup, Value as Named,
};
use runtime::registry::{Command, Group, ModuleEntry};
use watch::{Watch, WatchOptions};

/// Entry of the module.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("Detection of the far end of each cable"),
    sections: &config::SECTIONS,
    commands: || vec![Command::printing(Group::See, "cables", command::run)],
    begin: Some(begin),
    ..ModuleEntry::named("cables")
};

/// The running module.
struct Running {
    mode: Mode,
    /// `None`: ports are not observed.
    open: Option<RefCell<Open>>,
    /// Reason why ports are not observed although configured.
    failed: Option<String>,
}

struct Open {
    watch: Watch,
    choices: Choices,
}

/// Creates the module: nothing is attached yet.
///
/// # Errors
/// The mesh's secret cannot be read or is invalid: other nodes would not be recognised.
pub fn begin(setup: &Setup<'_>, _: &mut Router) -> Result<Rc<dyn Module>, Error> {
    let config = setup.effective.of::<config::Cables>();
    let mode = match setup.wanted {
        true => *config.mode,
        false => Mode::Off,
    };
    let mut running = Running {
        mode,
        open: None,
        failed: None,
    };
    if mode == Mode::Off {
        return Ok(Rc::new(running));
    }
    let choices = Choices::open(&config.choices);
    let keys = Keys::open(config)?;
    match Cables::load() {
        Ok(noting) => {
            let administrator = Administrator::new(page(setup.effective).into_iter());
            let socket = (mode == Mode::Auto).then(|| changes(setup.effective));
            let socket = socket.flatten();
            let wanted = WatchOptions {
                ports: config.ports.iter().map(|port| port.0.clone()).collect(),
                keys,
                held: choices.chosen.clone(),
                guards: *config.servers == ForeignServers::Shut,
                socket: socket.as_deref(),
            };
            let watch = Watch::new(noting, administrator, wanted);
            running.open = Some(RefCell::new(Open { watch, choices }));
        }
        Err(error) => {
            error!(%error, "cannot record incoming frames of ports");
            running.failed = Some(error.to_string());
        }
    }
    Ok(Rc::new(running))
}

/// Returns the ports of weir's own page.
fn page(effective: &Effective) -> Vec<u16> {
    let all = effective.entries();
    let listen = all.iter().find(|entry| entry.key == "web.listen");
    let listen = listen.and_then(|entry| entry.value.as_array());
    let port = |value: &Value| Some(value.as_str()?.parse::<SocketAddr>().ok()?.port());
    listen.into_iter().flatten().filter_map(port).collect()
}

/// Returns the socket of the process that may write the configuration.
fn changes(effective: &Effective) -> Option<PathBuf> {
    let all = effective.entries();
    let socket = all.iter().find(|entry| entry.key == "setup.socket");
    socket.and_then(|entry| Some(entry.value.as_str()?.into()))
}

impl Running {
    fn shown(&self) -> answers::Cables {
        let open = self.open.as_ref().map(RefCell::borrow_mut);
        answers::Cables {
            mode: self.mode.word().to_owned(),
            cables: open.map_or_else(Vec::new, |mut open| show::all(&mut open.watch)),
        }
    }

    fn happened(&self, after: u64) -> CableEvents {
        let open = self.open.as_ref().map(RefCell::borrow);
        open.map_or_else(CableEvents::default, |open| open.watch.events.after(after))
    }

    /// Takes a choice, which holds once it is on the disk.
    fn choose(&self, device: &str, role: Option<Role>) -> ResponseFuture<Cable> {
        let chosen = self.chosen(device, role);
        let chosen = chosen.map(|(cable, choices)| (cable, choices.write()));
        Box::pin(async move {
            let (cable, written) = chosen?;
            written.await.map_err(|why| {
                Problem::new(
                    500,
                    "not_written",
                    format!("the choice holds only until weir stops: cannot write it: {why}"),
                    "check `choices` under [cables], and whether the disk is full",
                )
            })?;
            Ok(cable)
        })
    }

    fn chosen(&self, device: &str, role: Option<Role>) -> Result<(Cable, Choices), Problem> {
        let Some(open) = &self.open else {
            return Err(Problem::new(
                409,
                "cables_off",
                "weir does not watch ports",
                "set mode = \"suggest\" under [cables] in the configuration, and restart weir",
            ));
        };
        let mut open = open.borrow_mut();
        if !open.watch.hold(device, role) {
            let all = open.watch.shown().into_iter();
            let all: Vec<String> = all.map(|(port, _)| port.device.clone()).collect();
            return Err(Problem::new(
                404,
                "no_port",
                format!("no port is called {}", api::problem::clipped(device)),
                match all.is_empty() {
                    true => "no ports configured: name them with `ports` under [cables]".to_owned(),
                    false => format!("valid ports: {}", all.join(", ")),
                },
            ));
        }
        open.choices.chosen = open.watch.held().clone();
        let cable = show::all(&mut open.watch)
            .into_iter()
            .find(|cable| cable.device == device);
        let choices = open.choices.clone();
        let gone = || Problem::new(404, "no_port", "the port is gone", "see `weir cables`");
        Ok((cable.ok_or_else(gone)?, choices))
    }
}

/// Ends proofs when a gate was shut. The gate is at TC, and XDP comes before that: earlier proofs
/// would bypass the gate. Behind the gate no new proof begins.
fn end_proofs(shut: bool, router: &mut Router) {
    if shut {
        router.end_all_proofs();
    }
}

impl Module for Running {
    fn privileges(&self) -> Privileges {
        match &self.open {
            // The module probes ports by packet sockets.
            Some(open) => Privileges {
                write: vec![open.borrow().choices.folder()],
                capabilities: vec![Capability::CAP_NET_RAW],
                ..Privileges::default()
            },
            None => Privileges::default(),
        }
    }

    fn routes(self: Rc<Self>, _: &Rc<dyn ApiContext>) -> Vec<Route> {
        let (set, auto, told) = (Rc::clone(&self), Rc::clone(&self), Rc::clone(&self));
        vec![
            Route::get("/v1/cables", AccessLevel::User, move |()| Ok(self.shown())),
            Route::get(
                "/v1/cables/events",
                AccessLevel::User,
                move |asked: CableEventsQuery| Ok(told.happened(asked.after)),
            ),
            Route::new_async(
                Method::POST,
                "/v1/cables/{device}/set",
                AccessLevel::User,
                move |asked: ApiRequest<(), CableRole>| match asked.body.role.parse() {
                    Ok(role @ (Role::Loop | Role::Unknown)) => {
                        let detail = format!("a port cannot be kept as {role}");
                        let hint = "choose uplink, mesh, radio, client, border or switch";
                        let problem = Problem::new(400, "no_role", detail, hint);
                        Box::pin(async move { Err(problem) })
                    }
                    Ok(role) => set.choose(&asked.path_params[0], Some(role)),
                    Err(error) => {
                        let detail = format!(
                            "{} is not a valid role",
                            api::problem::clipped(&asked.body.role)
                        );
                        let problem = Problem::new(400, "no_role", detail, error.to_string());
                        Box::pin(async move { Err(problem) })
                    }
                },
            ),
            Route::new_async(
                Method::POST,
                "/v1/cables/{device}/auto",
                AccessLevel::User,
                move |asked: ApiRequest<(), EmptyBody>| auto.choose(&asked.path_params[0], None),
            ),
        ]
    }

    fn on_event(&self, event: Event<'_>, router: &mut Router) {
        let Some(open) = &self.open else { return };
        let shut = match event {
            // A pulled cable must be noticed before another is plugged in.
            Event::Kernel(kernel::Event::Link(link)) => {
                let watch = &mut open.borrow_mut().watch;
                watch.changed(link, router.core.links())
            }
            Event::Kernel(kernel::Event::LinkGone(index)) => {
                return open.borrow_mut().watch.gone(*index);
            }
            Event::Kernel(kernel::Event::Fdb(told)) => {
                return open.borrow_mut().watch.administrator.station(told);
            }
            Event::Tick => open.borrow_mut().watch.tick(router.core.links()),
            Event::Second => {
                let (links, neighbours) = (router.core.links(), router.core.neighbours());
                return open.borrow_mut().watch.second(links, neighbours);
            }
            _ => return,
        };
        end_proofs(shut, router);
    }

    fn metrics(&self, _: &mut Router, text: &mut Exposition) {
        metrics::write(text, &self.shown().cables);
    }

    fn status(&self, _: &mut Router, report: &mut Report) {
        let Report { status, findings } = report;
        if self.open.is_some() {
            status.modules.push("cables".to_owned());
        }
        if let Some(error) = &self.failed {
            status.problems.push(PartProblem {
                part: "cables".to_owned(),
                what: format!("cannot watch the ports: {error}"),
                hint: "`weir check` shows what the kernel lacks".to_owned(),
            });
        }
        if let Some(open) = &self.open {
            let open = &mut *open.borrow_mut();
            conditions::all(&mut open.watch, findings);
            if let Some(file) = open.choices.unwritten() {
                let finding = Finding::new("unwritten", "cables", "cables").of(&file);
                findings.push(finding.with("file", Named::Text(file)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_own_port_is_one_that_administrators_come_by() {
        let ports = page(&Effective::defaults(&page::config::SECTIONS));
        assert_eq!(ports, [web::DEFAULT_LISTEN.port()]);
    }

    /// The module probes ports by packet sockets.
    #[test]
    fn the_unit_of_systemd_lets_it_ask() {
        let unit = include_str!("../../../../packaging/weir.service");
        let has = |key: &str, word: &str| {
            let mut lines = unit.lines().filter_map(|line| line.strip_prefix(key));
            lines.any(|line| line.split_whitespace().any(|it| it == word))
        };
        assert!(has("CapabilityBoundingSet=", "CAP_NET_RAW"));
        assert!(has("RestrictAddressFamilies=", "AF_PACKET"));
    }
}
