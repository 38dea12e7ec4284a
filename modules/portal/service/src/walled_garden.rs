//! Names in the walled garden, between the guests' process and weir. Only weir asks a name server
//! and opens the firewall. The process parses messages of guests and servers; weir accepts from the
//! process only names in the walled garden, and addresses that the server's message contains.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use api::{AccessLevel, ApiRequest, Body, EmptyBody, Method, Problem, ResponseFuture, Route};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use portal_core::upstream;
use portal_core::walled_garden::{FAILED, NamePattern, Question, WELL, encode_answer};
use serde::{Deserialize, Serialize};
use tracing::debug;
use web::channel::ServerEnd;
use web::throttle::Client;

use super::daemon_client::{ask, device};
use super::guest_service::GuestService;
use super::resolver;
use runtime::daemon::ApiContext;

/// Maximum age of the list of names: a reload changes the list.
const FRESH: Duration = Duration::from_secs(2);

/// A DNS query for a name in the walled garden.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameQuery {
    /// Address of the guest.
    pub guest: IpAddr,
    pub name: String,
    pub ipv6: bool,
}

impl Body for NameQuery {
    const EXPECTED: &'static str = "a JSON object with `guest`, `name` and `ipv6`";
}

/// Reply of the name server.
#[derive(Serialize, Deserialize)]
pub struct Reply {
    /// Number of the reply, for reference.
    number: u64,
    /// Reply in base64.
    octets: String,
}

/// Reply of the name server, after parsing.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParsedReply {
    number: u64,
    addresses: Vec<IpAddr>,
}

impl Body for ParsedReply {
    const EXPECTED: &'static str = "a JSON object with `number` and `addresses`";
}

/// Addresses that guests can reach now.
#[derive(Serialize, Deserialize)]
pub struct OpenedAddresses {
    addresses: Vec<IpAddr>,
    /// Maximum seconds after which guests have to ask again.
    seconds: u32,
}

/// Returns the routes for the portal's process.
pub fn routes(keeper: &Rc<RefCell<GuestService>>, face: &Rc<dyn ApiContext>) -> [Route; 3] {
    let (lists, asks, opens) = (Rc::clone(keeper), Rc::clone(keeper), Rc::clone(keeper));
    let (asked_at, opened_at) = (Rc::clone(face), Rc::clone(face));
    let list = move |_: ApiRequest<(), EmptyBody>| -> Result<Vec<String>, Problem> {
        Ok(lists.borrow().walled_garden.names())
    };
    let forward = move |asked: ApiRequest<(), NameQuery>| -> ResponseFuture<Option<Reply>> {
        let NameQuery { guest, name, ipv6 } = asked.body;
        let question = Question { name, ipv6 };
        let keeper = Rc::clone(&asks);
        let way = {
            let keeper = &mut *keeper.borrow_mut();
            let device = keeper.devices.mac(guest, &asked_at.router());
            keeper.walled_garden.may_ask(guest, device, &question.name)
        };
        Box::pin(async move {
            let Some(way) = way else {
                return Ok(None);
            };
            let said = resolver::ask(way.server, &question).await;
            let octets = match said {
                Ok(octets) => octets,
                Err(error) => {
                    keeper
                        .borrow_mut()
                        .walled_garden
                        .is_silent(way.server, &error);
                    return Ok(None);
                }
            };
            let encoded = BASE64.encode(&octets);
            let number = keeper
                .borrow_mut()
                .walled_garden
                .was_said(&way, question.name, octets);
            Ok(Some(Reply {
                number,
                octets: encoded,
            }))
        })
    };
    let open = move |asked: ApiRequest<(), ParsedReply>| -> ResponseFuture<OpenedAddresses> {
        let keeper = Rc::clone(&opens);
        let ParsedReply { number, addresses } = asked.body;
        let wait = keeper
            .borrow_mut()
            .walled_garden
            .open(number, &addresses, &opened_at.router());
        Box::pin(async move {
            if let Some(wait) = wait {
                let _ = wait.await;
            }
            let garden = &keeper.borrow().walled_garden;
            let is_open = |address: &IpAddr| garden.is_open(address);
            Ok(OpenedAddresses {
                addresses: addresses.into_iter().filter(is_open).collect(),
                seconds: garden.asked_again(),
            })
        })
    };
    [
        Route::new(Method::POST, "/portal/garden", AccessLevel::Guest, list),
        Route::new_async(
            Method::POST,
            "/portal/garden/ask",
            AccessLevel::Guest,
            forward,
        ),
        Route::new_async(
            Method::POST,
            "/portal/garden/open",
            AccessLevel::Guest,
            open,
        ),
    ]
}

/// State of the walled garden in the process.
pub struct WalledGardenClient {
    theirs: Rc<ServerEnd>,
    names: RefCell<(Option<Instant>, Vec<NamePattern>)>,
}

impl WalledGardenClient {
    pub fn new(theirs: Rc<ServerEnd>) -> Self {
        Self {
            theirs,
            names: RefCell::default(),
        }
    }

    /// Returns the guest with an address.
    pub async fn client(&self, address: IpAddr) -> Option<Client> {
        device(&self.theirs, address).await
    }

    /// Returns the query if it asks for a name in the walled garden.
    pub async fn concerns(&self, octets: &[u8]) -> Option<Question> {
        let question = Question::read(octets)?;
        let read = self.names.borrow().0;
        if read.is_none_or(|read| read.elapsed() > FRESH) {
            // Concurrent requests use the previous list.
            self.names.borrow_mut().0 = Some(Instant::now());
            if let Ok(names) =
                ask::<Vec<String>>(&self.theirs, "/portal/garden", &EmptyBody {}).await
            {
                let names = names.iter().filter_map(|name| name.parse().ok());
                self.names.borrow_mut().1 = names.collect();
            }
        }
        let names = &self.names.borrow().1;
        let within = names.iter().any(|name| name.holds(&question.name));
        within.then_some(question)
    }

    /// Returns the answer, once its addresses are open.
    pub async fn answer(
        &self,
        octets: &[u8],
        question: &Question,
        guest: IpAddr,
    ) -> Option<Vec<u8>> {
        let (code, addresses, seconds) = self.find(question, guest).await.unwrap_or_else(|why| {
            debug!(
                why,
                name = question.name,
                "cannot resolve a name of the garden"
            );
            (FAILED, Vec::new(), 0)
        });
        encode_answer(octets, code, &addresses, seconds)
    }

    async fn find(
        &self,
        question: &Question,
        guest: IpAddr,
    ) -> Result<(u8, Vec<IpAddr>, u32), &'static str> {
        let wish = NameQuery {
            guest,
            name: question.name.clone(),
            ipv6: question.ipv6,
        };
        let silent = |_| "weir does not answer";
        let reply: Option<Reply> = ask(&self.theirs, "/portal/garden/ask", &wish)
            .await
            .map_err(silent)?;
        let reply = reply.ok_or("too many queries, or no answer from the name server")?;
        let octets = BASE64.decode(reply.octets).map_err(|_| "no base64")?;
        let said = upstream::read(&octets, question).map_err(|_| "malformed answer")?;
        if said.addresses.is_empty() {
            return Ok((said.code, Vec::new(), 0));
        }
        let understood = ParsedReply {
            number: reply.number,
            addresses: said.addresses,
        };
        let opened: OpenedAddresses = ask(&self.theirs, "/portal/garden/open", &understood)
            .await
            .map_err(silent)?;
        match opened.addresses.is_empty() {
            true => Err("none of its addresses may be opened, or the set is full"),
            false => Ok((WELL, opened.addresses, said.seconds.min(opened.seconds))),
        }
    }
}
