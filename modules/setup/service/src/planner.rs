//! Reads, plans and applies choices.

use std::io;
use std::path::PathBuf;

use ::uci::Package;
use setup_core::choices::{Choices, Network};
use setup_core::messages::SetupStrength;
use setup_core::openvpn::Server;
use setup_core::plan::{Config, Plan, Problem, ProblemKind, plan};
use setup_core::{FileChange, Line, difference, read, shadow};

use super::ca::CertificateAuthority;
use super::clients::{self, GeneratedKeys};
use super::config::Setup;
use super::config_store::{ConfigStore, OPENVPN, StagedChanges};
use super::facts::{self, Board};
use super::keys;
use runtime::Error;

/// User whose password the wizard sets.
const ADMINISTRATOR: &str = "root";

/// A router's configuration, to read and to change.
pub struct Planner {
    pub place: ConfigStore,
    etc: PathBuf,
    setup: Setup,
}

/// Present state of the router.
pub struct RouterState {
    pub board: Board,
    pub config: Config,
    pub choices: Choices,
}

/// A plan, and its inputs.
pub struct PreparedPlan {
    pub plan: Plan,
    pub lines: Vec<Line>,
    pub strength: Option<SetupStrength>,
    choices: Choices,
    made: GeneratedKeys,
    authority: Option<CertificateAuthority>,
    board: Board,
    before: Config,
    password: Option<Password>,
}

impl PreparedPlan {
    /// Refuses to make clients' files without the router's address.
    fn finds_the_router(&mut self) {
        let other_keys = self.authority.as_ref().is_some_and(|all| all.is_new)
            && Server::of(&self.plan.config).is_some_and(|server| !server.clients.is_empty());
        let wireguard = self.choices.wireguard.as_ref();
        let openvpn = self.choices.openvpn.as_ref();
        for (field, endpoint, is_told) in [
            (
                "wireguard.endpoint",
                wireguard.map(|tunnel| &tunnel.endpoint),
                !self.made.wireguard.is_empty(),
            ),
            (
                "openvpn.endpoint",
                openvpn.map(|vpn| &vpn.endpoint),
                !self.made.openvpn.is_empty() || other_keys,
            ),
        ] {
            if is_told && endpoint.is_some_and(String::is_empty) {
                self.plan.problems.push(ProblemKind::Required.at(field));
            }
        }
    }

    /// Returns the name of a client whose key is missing because it was generated here.
    pub fn without_key(&self) -> Option<&str> {
        let (first, _) = self.made.wireguard.first()?;
        let client = self
            .choices
            .wireguard
            .as_ref()?
            .clients
            .as_ref()?
            .get(*first)?;
        Some(&client.name)
    }

    /// Returns the name of a client that gets a certificate here.
    pub fn without_certificate(&self) -> Option<&str> {
        let first = self.made.openvpn.first();
        let mut clients = self.choices.openvpn.iter().flat_map(|vpn| &vpn.clients);
        let mut clients = clients.next()?.iter();
        let client = clients.find(|client| client.common_name.as_ref() == first)?;
        first.map(|_| &*client.name)
    }
}

/// New password of the administrator.
enum Password {
    /// As typed: hashed only when it is written to its file, as hashing is slow by design.
    Typed(String),
    /// As in the file.
    Hash(String),
}

impl Planner {
    pub fn new(setup: &Setup) -> Self {
        let place = ConfigStore::new(setup);
        Self {
            etc: place.etc().to_owned(),
            place,
            setup: setup.clone(),
        }
    }

    /// Reads the present state, with secrets.
    pub fn read_state(&self) -> Result<RouterState, Error> {
        let config = self.place.config()?;
        let board = facts::read_board(&self.etc, &config, (*self.setup.password).into());
        let mut choices = read(&config);
        if let Some(router) = &mut choices.router {
            let shadow = self.shadow().ok().flatten();
            router.password_hash =
                shadow.and_then(|text| shadow::password_of(&text, ADMINISTRATOR));
        }
        Ok(RouterState {
            board,
            config,
            choices,
        })
    }

    /// Plans for the page, whose user may set up a router for the first time: refuses the setup
    /// while the administrator has no password.
    pub fn plan_whole(&self, choices: &Choices) -> Result<PreparedPlan, Error> {
        let mut planned = self.plan(choices)?;
        let open = self
            .shadow()
            .is_ok_and(|text| text.is_some_and(|text| shadow::is_empty(&text, ADMINISTRATOR)));
        if open && choices.router.is_some() && planned.password.is_none() {
            let problem = ProblemKind::Required.at("router.password");
            planned.plan.problems.push(problem);
        }
        planned.finds_the_router();
        Ok(planned)
    }

    /// Plans choices. Nothing changes.
    pub fn plan(&self, choices: &Choices) -> Result<PreparedPlan, Error> {
        let RouterState {
            mut board, config, ..
        } = self.read_state()?;
        let password = choices
            .router
            .as_ref()
            .and_then(|router| router.password.as_deref());
        let strength = password.and_then(|password| strength(password, choices));
        board.facts.score = strength.as_ref().map(|strength| strength.score);
        let mut choices = choices.clone();
        let made = clients::complete(&mut choices, &config)
            .map_err(|error| Error::with_cause("cannot create a key", &error, "try again"))?;
        let authority = self.authority(&choices, &config)?;
        if let Some(authority) = &authority {
            board.facts.openvpn_keys.clone_from(&authority.mark);
            board.facts.openvpn_anew = authority.is_new;
        }
        let mut plan = plan(&choices, &config, &board.facts);
        let mut lines = lines(&config, &plan.config);
        let is_made = |authority: &CertificateAuthority| !authority.files.is_empty();
        if Server::of(&plan.config).is_some() && authority.as_ref().is_some_and(is_made) {
            lines.push(secret("openvpn.authority".to_owned()));
        }
        let password = self.password(&choices)?;
        if password.is_none() {
            plan.sentences
                .retain(|sentence| sentence.sentence != "router-password");
        }
        lines.extend(
            password
                .as_ref()
                .map(|_| secret(format!("shadow.{ADMINISTRATOR}.password"))),
        );
        Ok(PreparedPlan {
            choices,
            made,
            authority,
            lines,
            strength,
            board,
            before: config,
            password,
            plan,
        })
    }

    /// Returns the administrator's new password, if it changes.
    fn password(&self, choices: &Choices) -> Result<Option<Password>, Error> {
        let Some(router) = &choices.router else {
            return Ok(None);
        };
        if let Some(password) = &router.password {
            return Ok(Some(Password::Typed(password.clone())));
        }
        let known = self.shadow().map_err(|error| {
            let what = format!("cannot read {}", self.shadow_path().display());
            Error::with_cause(what, &error, "run it as root")
        })?;
        let known = known.and_then(|text| shadow::password_of(&text, ADMINISTRATOR));
        let hash = router.password_hash.clone();
        Ok(hash
            .filter(|hash| known.as_ref() != Some(hash))
            .map(Password::Hash))
    }

    /// Opens the authority of OpenVPN, if a server exists or is wanted.
    fn authority(
        &self,
        choices: &Choices,
        config: &Config,
    ) -> Result<Option<CertificateAuthority>, Error> {
        let is_on = match &choices.openvpn {
            Some(vpn) => vpn.on,
            None => Server::of(config).is_some(),
        };
        let is_on = is_on && cfg!(feature = "openvpn");
        is_on
            .then(|| CertificateAuthority::open(&self.openvpn()))
            .transpose()
    }

    fn openvpn(&self) -> PathBuf {
        self.etc.join(OPENVPN)
    }

    fn shadow_path(&self) -> PathBuf {
        self.etc.join("shadow")
    }

    fn shadow(&self) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.shadow_path()) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the files that a plan changes.
    pub fn files(&self, planned: &PreparedPlan) -> Result<StagedChanges, Error> {
        if !planned.plan.problems.is_empty() {
            return Err(wrong(&planned.plan.problems));
        }
        planned.board.known()?;
        let config = &planned.plan.config;
        let (made, authority) = (&planned.made, planned.authority.as_ref());
        let openvpn = clients::of_openvpn(&self.openvpn(), config, made, authority)?;
        let mut waiting = StagedChanges {
            files: openvpn.files,
            lines: planned.lines.clone(),
            once: clients::of_wireguard(config, &planned.choices, &planned.made),
            notes: Vec::new(),
        };
        waiting.once.extend(openvpn.once);
        let packages = self.place.files(&planned.before, config)?;
        waiting.files.extend(packages);
        let hash = match &planned.password {
            None => return Ok(waiting),
            Some(Password::Hash(hash)) => hash.clone(),
            Some(Password::Typed(password)) => keys::hash(password).map_err(|error| {
                Error::with_cause("cannot set the password", &error, "try again")
            })?,
        };
        waiting.files.push(self.shadow_file(&hash)?);
        Ok(waiting)
    }

    fn shadow_file(&self, hash: &str) -> Result<FileChange, Error> {
        let path = self.shadow_path();
        let broken = |what: &str| {
            Error::new(
                format!("{}: {what}", path.display()),
                "leave the password out here (in a terminal: set it by `passwd`)",
            )
        };
        let before = self.shadow().map_err(|error| broken(&error.to_string()))?;
        let before = before.ok_or_else(|| broken("no such file"))?;
        let day = net::clock::unix_seconds() / 86_400;
        let after = shadow::with_password(&before, ADMINISTRATOR, hash, day)
            .ok_or_else(|| broken("no entry for root"))?;
        Ok(FileChange {
            path,
            before: Some(before),
            after: Some(after),
        })
    }
}

/// Combines problems into an error.
fn wrong(problems: &[Problem]) -> Error {
    Error::Failure {
        what: "nothing was changed: the request is not valid".to_owned(),
        why: problems.iter().map(Problem::to_string).collect(),
        fields: problems.iter().map(|one| one.field.clone()).collect(),
        hint: "fix that, and try again".to_owned(),
        usage: false,
    }
}

/// Returns a line for a new secret.
fn secret(address: String) -> Line {
    Line {
        added: true,
        address,
        value: "(secret)".to_owned(),
        list: false,
    }
}

/// Returns the differences of all packages.
pub fn lines(before: &Config, after: &Config) -> Vec<Line> {
    let none = |package: &Package| Package::empty(package.name());
    after
        .packages()
        .flat_map(|package| {
            let former = before.package(package.name()).cloned();
            difference(&former.unwrap_or_else(|| none(package)), package)
        })
        .collect()
}

/// Rates a password, for an attacker who knows the other choices.
fn strength(password: &str, choices: &Choices) -> Option<SetupStrength> {
    let router = choices.router.as_ref().map(|router| &*router.name);
    let networks = choices
        .wifi
        .iter()
        .flat_map(|wifi| &wifi.networks)
        .flatten();
    let known = router
        .into_iter()
        .chain(networks.map(|network| &*network.ssid));
    let known: Vec<&str> = known.collect();
    let judged = web::password::strength(password, &known)?;
    Some(SetupStrength {
        score: judged.score,
        warning: judged.warning,
        suggestions: judged.suggestions,
    })
}

/// Returns choices without their secrets, and the fields of secrets that are set.
pub fn without_secrets(mut choices: Choices) -> (Choices, Vec<String>) {
    let mut kept = Vec::new();
    let mut take = |field: String, secret: &mut Option<String>| {
        if secret.take().is_some() {
            kept.push(field);
        }
    };
    if let Some(router) = &mut choices.router {
        take("router.password".to_owned(), &mut router.password_hash);
    }
    if let Some(internet) = &mut choices.internet {
        take("internet.password".to_owned(), &mut internet.password);
        take("internet.key".to_owned(), &mut internet.key);
        take("internet.pin".to_owned(), &mut internet.pin);
    }
    let networks = choices
        .wifi
        .iter_mut()
        .flat_map(|wifi| &mut wifi.networks)
        .flatten();
    for (n, Network { key, .. }) in networks.enumerate() {
        take(format!("wifi.networks[{n}].key"), key);
    }
    if let Some(mesh) = &mut choices.mesh {
        take("mesh.key".to_owned(), &mut mesh.key);
    }
    if let Some(tunnel) = &mut choices.wireguard {
        take("wireguard.private_key".to_owned(), &mut tunnel.private_key);
        for (n, client) in tunnel.clients.iter_mut().flatten().enumerate() {
            let field = format!("wireguard.clients[{n}].preshared_key");
            take(field, &mut client.preshared_key);
        }
    }
    (choices, kept)
}
