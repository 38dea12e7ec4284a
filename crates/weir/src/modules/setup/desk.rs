//! Where choices are looked at, and carried out.

use std::io;
use std::path::PathBuf;

use ::setup::choices::{Choices, Network, WireGuardClient};
use ::setup::plan::{Config, Inside, MOST_CLIENTS, Plan, Problem, Wrong, plan};
use ::setup::{File, Line, difference, read, shadow};
use ::uci::Package;
use answers::{QrPicture, SetupClient, SetupRelease, SetupStrength};

use super::config::Setup;
use super::facts::{self, Board};
use super::keys;
use super::place::{Place, Waiting};
use crate::Error;
use crate::output::qr;

/// Whose password the wizard sets.
const ADMINISTRATOR: &str = "root";

/// A router's configuration, to be decided upon.
pub struct Desk {
    pub place: Place,
    etc: PathBuf,
    setup: Setup,
}

/// What was looked at.
pub struct Looked {
    pub board: Board,
    pub config: Config,
    pub choices: Choices,
}

/// What choices come to, and what it takes.
pub struct Planned {
    pub plan: Plan,
    pub lines: Vec<Line>,
    pub strength: Option<SetupStrength>,
    choices: Choices,
    made: Vec<Made>,
    board: Board,
    before: Config,
    password: Option<Password>,
}

impl Planned {
    /// The name of a client whose key was made here.
    pub fn without_key(&self) -> Option<&str> {
        let first = self.made.first()?;
        let client = self.choices.wireguard.as_ref()?.clients.get(first.client)?;
        Some(&client.name)
    }

    /// Files of clients whose keys were made, to be told once.
    pub fn once(&self) -> Vec<SetupClient> {
        files_of_clients(&self.plan.config, &self.choices, &self.made)
    }
}

/// A password that is to be the administrator's.
enum Password {
    /// As it was typed: hashed only when it is put into its file, as that is made to be slow.
    Typed(String),
    /// As the file has it.
    Hash(String),
}

impl Desk {
    pub fn new(setup: &Setup) -> Self {
        let place = Place::new(setup);
        Self {
            etc: place.etc().to_owned(),
            place,
            setup: setup.clone(),
        }
    }

    /// Looks at what there is, secrets and all.
    pub fn look(&self) -> Result<Looked, Error> {
        let config = self.place.config()?;
        let board = facts::look(&self.etc, &config, (*self.setup.password).into());
        let mut choices = read(&config);
        if let Some(router) = &mut choices.router {
            let shadow = self.shadow().ok().flatten();
            router.password_hash =
                shadow.and_then(|text| shadow::password_of(&text, ADMINISTRATOR));
        }
        Ok(Looked {
            board,
            config,
            choices,
        })
    }

    /// Plans for the page: there somebody sets a router up who may never have done so, and who is not
    /// to be done while anybody can log in as its administrator.
    pub fn plan_whole(&self, choices: &Choices) -> Result<Planned, Error> {
        let mut planned = self.plan(choices)?;
        let open = self
            .shadow()
            .is_ok_and(|text| text.is_some_and(|text| shadow::is_empty(&text, ADMINISTRATOR)));
        if open && choices.router.is_some() && planned.password.is_none() {
            let problem = Wrong::Required.at("router.password");
            planned.plan.problems.push(problem);
        }
        Ok(planned)
    }

    /// Plans. Nothing changes.
    pub fn plan(&self, choices: &Choices) -> Result<Planned, Error> {
        let Looked {
            mut board, config, ..
        } = self.look()?;
        let password = choices
            .router
            .as_ref()
            .and_then(|router| router.password.as_deref());
        let strength = password.and_then(|password| strength(password, choices));
        board.facts.score = strength.as_ref().map(|strength| strength.score);
        let mut choices = choices.clone();
        let made = complete(&mut choices, &config)
            .map_err(|error| Error::because("no key could be made", &error, "try again"))?;
        let plan = plan(&choices, &config, &board.facts);
        let mut lines = lines(&config, &plan.config);
        let password = self.password(&choices)?;
        lines.extend(password.as_ref().map(|_| Line {
            added: true,
            address: format!("shadow.{ADMINISTRATOR}.password"),
            value: "(secret)".to_owned(),
            list: false,
        }));
        Ok(Planned {
            choices,
            made,
            lines,
            strength,
            board,
            before: config,
            password,
            plan,
        })
    }

    /// The administrator's password, where that changes.
    fn password(&self, choices: &Choices) -> Result<Option<Password>, Error> {
        let Some(router) = &choices.router else {
            return Ok(None);
        };
        if let Some(password) = &router.password {
            return Ok(Some(Password::Typed(password.clone())));
        }
        let known = self.shadow().map_err(|error| {
            let what = format!("{} cannot be read", self.shadow_path().display());
            Error::because(what, &error, "run it as root")
        })?;
        let known = known.and_then(|text| shadow::password_of(&text, ADMINISTRATOR));
        let hash = router.password_hash.clone();
        Ok(hash
            .filter(|hash| known.as_ref() != Some(hash))
            .map(Password::Hash))
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

    /// The files that a plan takes.
    pub fn files(&self, planned: &Planned) -> Result<Waiting, Error> {
        if !planned.plan.problems.is_empty() {
            return Err(wrong(&planned.plan.problems));
        }
        let release = &planned.board.release;
        if !release.known {
            return Err(Error::new(
                format!("{} is not known here", shown(release)),
                "what would change is only shown; change it by `uci`, where it is right",
            ));
        }
        let mut waiting = Waiting {
            files: self.place.files(&planned.before, &planned.plan.config)?,
            lines: planned.lines.clone(),
        };
        let hash = match &planned.password {
            None => return Ok(waiting),
            Some(Password::Hash(hash)) => hash.clone(),
            Some(Password::Typed(password)) => keys::hash(password).map_err(|error| {
                Error::because("the password cannot be kept", &error, "try again")
            })?,
        };
        waiting.files.push(self.shadow_file(&hash)?);
        Ok(waiting)
    }

    fn shadow_file(&self, hash: &str) -> Result<File, Error> {
        let path = self.shadow_path();
        let broken = |what: &str| {
            Error::new(
                format!("{}: {what}", path.display()),
                "set the password by `passwd`, and leave it out here",
            )
        };
        let before = self.shadow().map_err(|error| broken(&error.to_string()))?;
        let before = before.ok_or_else(|| broken("there is none"))?;
        let now = std::time::SystemTime::now();
        let since = now
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let day = since.as_secs() / 86_400;
        let after = shadow::with_password(&before, ADMINISTRATOR, hash, day)
            .ok_or_else(|| broken("root is not in it"))?;
        Ok(File {
            path,
            before: Some(before),
            after: Some(after),
        })
    }
}

fn shown(release: &SetupRelease) -> String {
    format!("{} {}", release.name, release.version)
        .trim()
        .to_owned()
}

/// What is wrong, as one error.
fn wrong(problems: &[Problem]) -> Error {
    Error::Told {
        what: "nothing was changed: what is asked for cannot be".to_owned(),
        why: problems.iter().map(Problem::to_string).collect(),
        hint: "put that right, and try again".to_owned(),
        usage: false,
    }
}

/// What differs in all packages.
fn lines(before: &Config, after: &Config) -> Vec<Line> {
    let none = |package: &Package| Package::empty(package.name());
    after
        .packages()
        .flat_map(|package| {
            let former = before.package(package.name()).cloned();
            difference(&former.unwrap_or_else(|| none(package)), package)
        })
        .collect()
}

/// Keys that were made for a client.
struct Made {
    client: usize,
    private: String,
}

/// Makes keys that choices lack and the router does not have.
fn complete(choices: &mut Choices, config: &Config) -> io::Result<Vec<Made>> {
    let Some(tunnel) = choices.wireguard.as_mut().filter(|tunnel| tunnel.on) else {
        return Ok(Vec::new());
    };
    let known = read(config).wireguard.unwrap_or_default();
    if tunnel.private_key.is_none() && known.private_key.is_none() {
        tunnel.private_key = Some(keys::pair()?.private);
    }
    let mut made = Vec::new();
    // Of more the plan wants nothing.
    if tunnel.clients.len() > MOST_CLIENTS {
        return Ok(made);
    }
    for (n, client) in tunnel.clients.iter_mut().enumerate() {
        let same = |other: &WireGuardClient| other.name == client.name;
        if client.public_key.is_none() && !known.clients.iter().any(same) {
            let pair = keys::pair()?;
            client.public_key = Some(pair.public);
            made.push(Made {
                client: n,
                private: pair.private,
            });
        }
    }
    Ok(made)
}

/// The files of clients whose keys were made, as wg-quick(8) and the apps read them.
fn files_of_clients(config: &Config, choices: &Choices, made: &[Made]) -> Vec<SetupClient> {
    let (Some(asked), Some(tunnel)) = (&choices.wireguard, read(config).wireguard) else {
        return Vec::new();
    };
    let file = |made: &Made| {
        let client = asked.clients.get(made.client)?;
        let whole = tunnel
            .clients
            .iter()
            .find(|other| other.public_key == client.public_key)?;
        let server = keys::public(tunnel.private_key.as_deref()?)?;
        let inside = Inside::read(&tunnel.address)?;
        let endpoint = if asked.endpoint.is_empty() {
            "router.example"
        } else {
            &asked.endpoint
        };
        let preshared = whole.preshared_key.as_ref();
        let preshared = preshared.map_or_else(String::new, |key| format!("PresharedKey = {key}\n"));
        let file = format!(
            "[Interface]\nPrivateKey = {}\nAddress = {}/32\nDNS = {}\n\n[Peer]\nPublicKey = \
             {server}\n{preshared}AllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = {endpoint}:{}\n\
             PersistentKeepalive = 25\n",
            made.private,
            whole.address.as_ref()?,
            inside.address,
            tunnel.port,
        );
        let (side, path) = qr::path(&file)?;
        Some(SetupClient {
            name: client.name.clone(),
            file,
            qr: QrPicture { side, path },
        })
    };
    made.iter().filter_map(file).collect()
}

/// How hard a password is to guess, for somebody who knows what else was chosen.
#[cfg(feature = "strength")]
fn strength(password: &str, choices: &Choices) -> Option<SetupStrength> {
    let mut known: Vec<&str> = vec!["weir", "openwrt", "router", "admin", "root"];
    known.extend(choices.router.as_ref().map(|router| &*router.name));
    let networks = choices.wifi.iter().flat_map(|wifi| &wifi.networks);
    known.extend(networks.map(|network| &*network.ssid));
    // It takes time by the square of the length, and a hundred characters tell enough.
    let head: String = password.chars().take(100).collect();
    let judged = zxcvbn::zxcvbn(&head, &known);
    let feedback = judged.feedback();
    Some(SetupStrength {
        score: judged.score().into(),
        warning: feedback.and_then(|said| Some(said.warning()?.to_string())),
        suggestions: feedback
            .map(|said| said.suggestions().iter().map(ToString::to_string).collect())
            .unwrap_or_default(),
    })
}

#[cfg(not(feature = "strength"))]
fn strength(_: &str, _: &Choices) -> Option<SetupStrength> {
    None
}

/// Choices without their secrets, and the fields of those that are set.
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
    let networks = choices.wifi.iter_mut().flat_map(|wifi| &mut wifi.networks);
    for (n, Network { key, .. }) in networks.enumerate() {
        take(format!("wifi.networks[{n}].key"), key);
    }
    if let Some(mesh) = &mut choices.mesh {
        take("mesh.key".to_owned(), &mut mesh.key);
    }
    if let Some(tunnel) = &mut choices.wireguard {
        take("wireguard.private_key".to_owned(), &mut tunnel.private_key);
        for (n, client) in tunnel.clients.iter_mut().enumerate() {
            let field = format!("wireguard.clients[{n}].preshared_key");
            take(field, &mut client.preshared_key);
        }
    }
    (choices, kept)
}
